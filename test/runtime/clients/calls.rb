# Plays the calls in a JSON file (argument 2) with a library (argument 1) to each address that follows: see calls.py.

require 'json'
require 'net/http'
require 'stringio'

def net_http
  kept = {}
  lambda do |method, address, fields, body, chunked|
    uri = URI(address)
    http = kept[uri.host + uri.port.to_s] ||= Net::HTTP.new(uri.host, uri.port).tap { |one| one.read_timeout = 20; one.start }
    request = Net::HTTPGenericRequest.new(method, !body.nil?, method != 'HEAD', uri.request_uri)
    fields.each { |name, value| request.add_field(name, value) }
    if chunked
      request['Transfer-Encoding'] = 'chunked'
      request.body_stream = StringIO.new(body)
    elsif body
      request.body = body
    end
    response = http.request(request)
    head = []
    response.canonical_each { |name, value| head << [name, value] }
    [response.code.to_i, head, response.body]
  end
end

def faraday
  require 'faraday'
  connection = Faraday.new { |builder| builder.adapter :net_http }
  lambda do |method, address, fields, body, _chunked|
    response = connection.run_request(method.downcase.to_sym, address, body, fields.to_h)
    [response.status, response.headers.to_a, response.body]
  end
end

def httparty
  require 'httparty'
  lambda do |method, address, fields, body, _chunked|
    options = { headers: fields.to_h, format: :plain, timeout: 20 }
    options[:body] = body if body
    response = HTTParty.send(method.downcase, address, options)
    [response.code, response.headers.to_h.flat_map { |name, values| Array(values).map { |value| [name, value] } }, response.body]
  end
end

def rest_client
  require 'rest-client'
  lambda do |method, address, fields, body, _chunked|
    # It folds names to symbols, and gives 4xx and 5xx as errors that have the response.
    given = { method: method.downcase.to_sym, url: address, headers: fields.to_h, timeout: 20 }
    given[:payload] = body if body
    begin
      response = RestClient::Request.execute(given)
    rescue RestClient::ExceptionWithResponse => error
      raise if error.response.nil?
      response = error.response
    end
    head = response.raw_headers.flat_map { |name, values| values.map { |value| [name, value] } }
    [response.code, head, response.body]
  end
end

calls = JSON.parse(File.read(ARGV[1], encoding: 'UTF-8'))
ARGV[2..].each do |base|
  send_call = method(ARGV[0].tr('-:.', '_').gsub(/__+/, '_').downcase).call
  tag = ''
  calls.each do |call|
    fields = call['fields'].map { |name, value| [name, value.gsub('{etag}', tag).encode('ISO-8859-1').force_encoding('BINARY')] }
    body = call['body'] && File.binread(call['body'])
    begin
      status, head, content = send_call.call(call['method'], base + call['path'], fields, body, call['chunked'])
      head = head.map { |name, value| [name, value.dup.force_encoding('ISO-8859-1').encode('UTF-8')] }
      tag = head.find { |name, _| name.downcase == 'etag' }&.last || tag
      puts JSON.generate([status, head, [content || ''].pack('m0')])
    rescue StandardError => error
      puts JSON.generate(error.class.name)
    end
  end
end
