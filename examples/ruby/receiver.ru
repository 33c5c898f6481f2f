# Receives status callbacks, a Rack app: puma -b tcp://127.0.0.1:3000 receiver.ru, behind your TLS
# proxy. Stores each in a file. In production: use a table with a unique key on conversion and event
# in place of the files, and one for the nonces.
require "digest"
require "fileutils"
require "json"
require "openssl"

SECRET = ENV["RINGBACK_SIGNING_SECRET"].to_s
raise "Set RINGBACK_SIGNING_SECRET." if SECRET.empty?
MAX_BODY_BYTES = 65_536
TOLERANCE_SECONDS = 300
LOCK = Mutex.new
NONCES = {} # nonce => when its timestamp goes stale
FileUtils.mkdir_p("postbacks")

def receive(env)
  return 405 unless env["REQUEST_METHOD"] == "POST"

  body = env["rack.input"].read(MAX_BODY_BYTES + 1).to_s # the bytes as they came
  return 413 if body.bytesize > MAX_BODY_BYTES

  timestamp = env["HTTP_X_SERVICE_TIMESTAMP"].to_s.b
  nonce = env["HTTP_X_SERVICE_NONCE"].to_s.b
  signature = env["HTTP_X_SERVICE_SIGNATURE"].to_s.b.downcase
  return 401 if nonce.empty? || !timestamp.match?(/\A[0-9]+\z/)
  return 401 if (Time.now.to_i - timestamp.to_i).abs > TOLERANCE_SECONDS

  # REQUEST_URI is path and query as they came; PATH_INFO need not be.
  signed = ["POST", env["REQUEST_URI"], timestamp, nonce, Digest::SHA256.hexdigest(body)].join("\n")
  expected = OpenSSL::HMAC.hexdigest("SHA256", SECRET, signed)
  return 401 unless OpenSSL.secure_compare(expected, signature)

  event = JSON.parse(body)
  return 400 unless event.is_a?(Hash) && event["conversionId"] && event["event"]

  # Hex, so that no id can be a path and no two events share a file name.
  key = event.values_at("conversionId", "event").map { |part| part.to_s.unpack1("H*") }.join(".")
  file = "postbacks/#{key}.json"
  LOCK.synchronize do
    NONCES.delete_if { |_, stale_at| stale_at < Time.now.to_i }
    return 401 if NONCES.key?(nonce)

    is_new = !File.exist?(file) # the same event may come twice
    File.binwrite("#{file}.part", body) if is_new # a full disk leaves half of it here
    File.rename("#{file}.part", file) if is_new
    NONCES[nonce] = timestamp.to_i + TOLERANCE_SECONDS # not if storing failed: it may come again
    Thread.new { work(event) } if is_new # beside the answer, not before it
  end
  204
rescue JSON::ParserError
  400
rescue SystemCallError => problem
  warn problem.message
  503 # 5xx: it is sent again. A 4xx would end the delivery.
end

def work(event)
  $stdout.puts event.values_at("event", "conversionId", "orderId", "status").join(" ")
  $stdout.flush
end

run ->(env) { [receive(env), {}, []] }
