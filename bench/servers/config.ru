# V2 in Ruby: sends the id of the request back (Rack).
run lambda { |env|
  env['rack.input'].read
  [200, { 'content-type' => 'application/json' }, [%({"data":{"id":"#{env['HTTP_X_ID']}"}})]]
}
