# Plays the calls in a JSON file (argument 2) with a library (argument 1) to each address that follows: see calls.py.

use strict;
use warnings;
use Encode qw(encode decode);
use JSON::PP;
use MIME::Base64;

my ($library, $file, @bases) = @ARGV;

sub read_file {
    my ($path) = @_;
    open my $in, '<:raw', $path or die $!;
    local $/;
    return scalar <$in> // '';
}

sub parts {
    my ($body) = @_;
    my $at = 0;
    return sub { return undef if $at >= length $body; $at += 1000; return substr($body, $at - 1000, 1000) };
}

sub lwp {
    require LWP::UserAgent;
    my $agent = LWP::UserAgent->new(keep_alive => 1, cookie_jar => {}, timeout => 20);
    return sub {
        my ($method, $address, $fields, $body, $chunked) = @_;
        my $request = HTTP::Request->new($method, $address);
        $request->push_header(@$_) for @$fields;
        my $next = $chunked && parts($body);
        $request->content($chunked ? sub { $next->() // '' } : $body) if defined $body;
        my $response = $agent->request($request);
        die "no response: " . $response->message if ($response->header('Client-Warning') // '') eq 'Internal response';
        my @head;
        $response->headers->scan(sub { push @head, [@_] if $_[0] !~ /^client-/i });
        return ($response->code, \@head, $response->content);
    };
}

sub http_tiny {
    require HTTP::Tiny;
    my $agent = HTTP::Tiny->new(timeout => 20);
    return sub {
        my ($method, $address, $fields, $body, $chunked) = @_;
        my %headers;
        push @{ $headers{ lc $_->[0] } }, $_->[1] for @$fields;
        my $content = $chunked ? parts($body) : $body;
        my $response = $agent->request($method, $address, { headers => \%headers, defined $content ? (content => $content) : () });
        die "no response: $response->{content}" if $response->{status} == 599;
        my $head = $response->{headers};
        my @head = map { my $name = $_; map { [$name, $_] } ref $head->{$name} ? @{ $head->{$name} } : $head->{$name} } sort keys %$head;
        return ($response->{status}, \@head, $response->{content});
    };
}

sub mojo_useragent {
    require Mojo::UserAgent;
    my $agent = Mojo::UserAgent->new(request_timeout => 20, max_redirects => 5, max_response_size => 0);
    return sub {
        my ($method, $address, $fields, $body, $chunked) = @_;
        my $exchange = $agent->build_tx($method => $address);
        my $request = $exchange->req;
        $request->headers->add(@$_) for @$fields;
        if ($chunked) {
            my $next = parts($body);
            my ($drain, $part);
            $drain = sub { my $content = shift; $part = $next->(); $content->write_chunk($part // '', defined $part ? $drain : ()) };
            $request->content->$drain;
        }
        elsif (defined $body) { $request->body($body) }
        my $response = $agent->start($exchange)->result;
        my @head = map { my $name = $_; map { [$name, $_] } @{ $response->headers->every_header($name) } } sort @{ $response->headers->names };
        return ($response->code, \@head, $response->body);
    };
}

my %libraries = ('LWP' => \&lwp, 'HTTP::Tiny' => \&http_tiny, 'Mojo::UserAgent' => \&mojo_useragent);
my $json = JSON::PP->new->utf8->allow_nonref;
my $calls = $json->decode(read_file($file));
for my $base (@bases) {
    my $send = $libraries{$library}->();
    my $tag = '';
    for my $call (@$calls) {
        my @fields = map { my ($name, $value) = @$_; $value =~ s/\{etag\}/$tag/; [$name, encode('latin-1', $value)] } @{ $call->{fields} };
        my $body = defined $call->{body} ? read_file($call->{body}) : undef;
        my @response = eval { $send->($call->{method}, $base . $call->{path}, \@fields, $body, $call->{chunked}) };
        if (@response) {
            my ($status, $head, $content) = @response;
            lc $_->[0] eq 'etag' and $tag = $_->[1] for @$head;
            print $json->encode([$status + 0, $head, encode_base64($content // '', '')]), "\n";
        }
        else { print $json->encode($@ =~ s/ at .*|[\d.:]{5,}//sr), "\n" }
    }
}
