# Keeps the click ID of a partner's link, a Rack app: puma -b tcp://127.0.0.1:3000 click.ru, behind
# your TLS proxy. In production: the same two steps in your framework.
COOKIE = "Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax"

run lambda { |env|
  headers = { "content-type" => "text/plain" }
  # On every page: keep the click ID, if the visitor comes by a partner's link.
  clicked = env["QUERY_STRING"].to_s[/(?:\A|&)rbclick=([\w.-]{1,400})(?:&|\z)/, 1]
  headers["set-cookie"] = "rbclick=#{clicked}; #{COOKIE}" if clicked

  # At the checkout: send it with the signed sale, as clickId beside orderId and basketValue.
  click_id = clicked || env["HTTP_COOKIE"].to_s[/(?:\A|; *)rbclick=([\w.-]+)/, 1]
  [200, headers, ["clickId: #{click_id || "none"}\n"]]
}
