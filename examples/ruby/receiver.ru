# Receives status callbacks, a Rack app: puma -b tcp://127.0.0.1:3000 receiver.ru, behind your TLS
# proxy. Stores each in a file. In production: use a table with a unique key on conversion and event
# in place of the files, and one for the nonces.
require "digest"
require "fileutils"
require "json"
require "openssl"

# One secret, or two with a comma between them while it is being replaced.
SECRETS = ENV["RINGBACK_SIGNING_SECRET"].to_s.split(",").reject(&:empty?)
raise "Set RINGBACK_SIGNING_SECRET." if SECRETS.empty?
MAX_BODY_BYTES = 65_536
TOLERANCE_SECONDS = 300
LOCK = Mutex.new
NONCES = {} # nonce => when its timestamp goes stale
FileUtils.mkdir_p("postbacks")

def receive(env)
  return [405, "Only POST is taken here."] unless env["REQUEST_METHOD"] == "POST"

  body = env["rack.input"].read(MAX_BODY_BYTES + 1).to_s # the bytes as they came
  return [413, "The body is too large."] if body.bytesize > MAX_BODY_BYTES

  timestamp = env["HTTP_X_SERVICE_TIMESTAMP"].to_s.b
  nonce = env["HTTP_X_SERVICE_NONCE"].to_s.b
  signature = env["HTTP_X_SERVICE_SIGNATURE"].to_s.b.downcase
  no_nonce = nonce.empty? || !timestamp.match?(/\A[0-9]+\z/)
  return [401, "The timestamp or the nonce is missing."] if no_nonce

  away = (Time.now.to_i - timestamp.to_i).abs
  stale = "The timestamp is #{away} s away from this server's clock."
  return [401, stale] if away > TOLERANCE_SECONDS

  # REQUEST_URI is path and query as they came; PATH_INFO need not be.
  target = env["REQUEST_URI"]
  signed = ["POST", target, timestamp, nonce, Digest::SHA256.hexdigest(body)].join("\n")
  expected = SECRETS.map { |secret| OpenSSL::HMAC.hexdigest("SHA256", secret, signed) }
  foreign = "No secret here gives this signature for #{target} and #{body.bytesize} bytes."
  return [401, foreign] if expected.none? { |mac| OpenSSL.secure_compare(mac, signature) }

  event = JSON.parse(body)
  is_event = event.is_a?(Hash) && event["conversionId"] && event["event"]
  return [400, "The body has no conversionId or no event."] unless is_event

  # Hex, so that no id can be a path and no two events share a file name.
  key = event.values_at("conversionId", "event").map { |part| part.to_s.unpack1("H*") }.join(".")
  file = "postbacks/#{key}.json"
  LOCK.synchronize do
    NONCES.delete_if { |_, stale_at| stale_at < Time.now.to_i }
    return [401, "This nonce was used before."] if NONCES.key?(nonce)

    is_new = !File.exist?(file) # the same event may come twice
    File.binwrite("#{file}.part", body) if is_new # a full disk leaves half of it here
    File.rename("#{file}.part", file) if is_new
    NONCES[nonce] = timestamp.to_i + TOLERANCE_SECONDS # not if storing failed: it may come again
    Thread.new { work(event) } if is_new # beside the answer, not before it
  end
  [204, nil]
rescue JSON::ParserError
  [400, "The body is no JSON."]
rescue SystemCallError => problem
  [503, problem.message] # 5xx: it is sent again. A 4xx would end the delivery.
end

# Events come in any order: use this one only if its status ranks above the one you have (rule 8 of
# the guide).
def work(event)
  $stdout.puts event.values_at("event", "conversionId", "orderId", "status").join(" ")
  $stdout.flush
end

run lambda { |env|
  status, why = receive(env)
  next [status, {}, []] if why.nil?

  headers = env.select { |name| name.start_with?("HTTP_", "CONTENT_") }
  warn "#{status} #{why} #{env["REQUEST_METHOD"]} #{env["REQUEST_URI"]} #{headers}"
  [status, { "content-type" => "text/plain" }, [why]] # the page of your programme shows the reason
}
