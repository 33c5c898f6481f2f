# Reports a sale: ruby sender.rb ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
# Ends with 0: on record. 1: refused, correct the sale. 75: keep the sale and run it again later;
# an order is never recorded twice, the answer is then DUPLICATE. 78: a setting is wrong (key,
# secret, clock, brand, address): correct it and run it again.
require "digest"
require "json"
require "net/http"
require "openssl"
require "securerandom"

service = ENV.fetch("RINGBACK_URL", "https://ringback.example")
api_key, secrets = ENV.values_at("RINGBACK_API_KEY", "RINGBACK_SIGNING_SECRET").map(&:to_s)
secret = secrets.split(",").first.to_s # NEW,OLD while it is being replaced: the first one signs
if api_key.empty? || secret.empty? || !ARGV.size.between?(2, 4)
  abort "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount."
end
abort "RINGBACK_SIGNING_SECRET has a line break or white space in it." if secret.match?(/\s/)
sale = %w[orderId basketValue clickId couponCode].zip(ARGV).to_h.compact

path = "/v1/conversions"
# Amounts are strings. The bytes hashed here are exactly those sent below.
body = JSON.generate(sale)
timestamp = Time.now.to_i.to_s
nonce = SecureRandom.hex(16)
signed = ["POST", path, timestamp, nonce, Digest::SHA256.hexdigest(body)].join("\n")

begin
  answer = Net::HTTP.post(URI(service + path), body,
    "Authorization" => "Bearer #{api_key}",
    "Content-Type" => "application/json",
    "X-Service-Timestamp" => timestamp,
    "X-Service-Nonce" => nonce,
    "X-Service-Signature" => OpenSSL::HMAC.hexdigest("SHA256", secret, signed))
rescue SystemCallError, SocketError, IOError, Timeout::Error, OpenSSL::SSL::SSLError => problem
  warn "No answer from #{service}: #{problem.message}"
  exit 75
end
puts "#{answer.code} #{answer.body}"
status = answer.code.to_i
exit 0 if [200, 201].include?(status) && answer.content_type == "application/json"
exit 78 if status == 401 || status.between?(300, 399)
exit status.between?(400, 499) && ![408, 429].include?(status) ? 1 : 75 # 75 also for a proxy's page
