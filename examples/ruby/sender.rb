# Reports a sale: ruby sender.rb ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
# Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
# 75: keep the sale and run it again later; an order is never recorded twice, the answer is then
# DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it, run it again.
require "digest"
require "json"
require "net/http"
require "openssl"
require "securerandom"

def stop(code, reason)
  warn reason
  exit code
end

service = ENV.fetch("RINGBACK_URL", "https://ringback.example")
api_key, secrets = ENV.values_at("RINGBACK_API_KEY", "RINGBACK_SIGNING_SECRET").map(&:to_s)
secret = secrets.split(",").first.to_s # NEW,OLD while it is being replaced: the first one signs
if api_key.empty? || secret.empty? || !ARGV.size.between?(2, 4)
  stop 2, "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount."
end
if (api_key + secret).match?(/\s/)
  stop 2, "RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET has a line break or white space in it."
end
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
rescue StandardError => problem # uncaught, it would end the program with 1, as a refusal does
  stop 75, "No answer from #{service}: #{problem.message}"
end
puts "#{answer.code} #{answer.body}"
status, kind = answer.code.to_i, answer.content_type
exit 0 if [200, 201].include?(status) && kind == "application/json"
exit 78 if status == 401 || status.between?(300, 399)
is_refused = status.between?(400, 499) && ![408, 429].include?(status)
exit is_refused && kind == "application/problem+json" ? 1 : 75 # 75 also for a proxy's page
