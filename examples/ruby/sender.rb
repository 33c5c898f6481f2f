# Reports a sale: ruby sender.rb ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]]
# No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
require "digest"
require "json"
require "net/http"
require "openssl"
require "securerandom"

service = ENV.fetch("RINGBACK_URL", "https://ringback.example")
api_key, secret = ENV.values_at("RINGBACK_API_KEY", "RINGBACK_SIGNING_SECRET").map(&:to_s)
if api_key.empty? || secret.empty? || !ARGV.size.between?(2, 4)
  abort "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount."
end
sale = %w[orderId basketValue clickId couponCode].zip(ARGV).to_h.compact

path = "/v1/conversions"
# Amounts are strings. The bytes hashed here are exactly those sent below.
body = JSON.generate(sale)
timestamp = Time.now.to_i.to_s
nonce = SecureRandom.hex(16)
signed = ["POST", path, timestamp, nonce, Digest::SHA256.hexdigest(body)].join("\n")

answer = Net::HTTP.post(URI(service + path), body,
  "Authorization" => "Bearer #{api_key}",
  "Content-Type" => "application/json",
  "X-Service-Timestamp" => timestamp,
  "X-Service-Nonce" => nonce,
  "X-Service-Signature" => OpenSSL::HMAC.hexdigest("SHA256", secret, signed))
puts "#{answer.code} #{answer.body}"
# Anything else is a refusal, or an HTML page from a proxy.
exit %w[200 201].include?(answer.code) && answer.content_type == "application/json"
