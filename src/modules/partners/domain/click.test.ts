import assert from "node:assert/strict";
import { test } from "node:test";
import { type ClickRequest, judgeClick, landingAt, landingUrl } from "./click.ts";

const BROWSER = "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0";

interface Asked {
	method?: string;
	userAgent?: string | undefined;
	headers?: Record<string, string>;
}

function request({ method = "GET", ...rest }: Asked = {}): ClickRequest {
	const { userAgent, headers } = { userAgent: BROWSER, headers: {}, ...rest };
	const header = (name: string) => (name === "user-agent" ? userAgent : headers[name]);
	return { method, header, isCrawler: (agent) => agent.includes("bot") };
}

test("a person's click gets a click ID, other visits get none, and each kind is counted", () => {
	for (const [asked, httpStatus, counted] of [
		[request(), 302, "click"],
		[request({ headers: { "sec-fetch-dest": "document" } }), 302, "click"],
		[request({ headers: { purpose: "something" } }), 302, "click"],
		[request({ method: "HEAD" }), 302, "crawler"],
		[request({ userAgent: "Googlebot" }), 302, "crawler"],
		[request({ userAgent: "bot" }), 302, "crawler"],
		[request({ userAgent: undefined }), 302, "crawler"],
		[request({ userAgent: "" }), 302, "crawler"],
		[request({ headers: { "sec-purpose": "prefetch;prerender" } }), 503, "prefetch"],
		[request({ headers: { purpose: "prefetch" } }), 503, "prefetch"],
		[request({ headers: { "x-moz": "prefetch" } }), 503, "prefetch"],
		[request({ headers: { "x-purpose": "preview" } }), 503, "prefetch"],
		[request({ headers: { "sec-fetch-dest": "image" } }), 204, "embedded"],
		[request({ headers: { "sec-fetch-dest": "iframe" } }), 204, "embedded"],
		[request({ headers: { "sec-fetch-dest": "empty" } }), 204, "embedded"],
	] as const) {
		assert.deepEqual(judgeClick(asked, true), { httpStatus, counted });
		const ended = counted === "click" ? "ended" : counted;
		assert.deepEqual(judgeClick(asked, false), { httpStatus, counted: ended });
	}
});

test("a link leads only to the programme's hosts, by HTTPS at the port that is listed", () => {
	const hosts = [
		{ host: "shop.example", withSubdomains: false },
		{ host: "brand.example", withSubdomains: true },
		{ host: "localhost:8443", withSubdomains: false },
		// The settings cannot produce this rule. A stored row that is no host must match nothing.
		{ host: "http://shop.example", withSubdomains: false },
	];
	for (const [text, href] of [
		["https://shop.example/shoes?a=1", "https://shop.example/shoes?a=1"],
		["https://SHOP.example/a b", "https://shop.example/a%20b"],
		["https://shop.example:443/", "https://shop.example/"],
		["https://de.brand.example/", "https://de.brand.example/"],
		["https://brand.example", "https://brand.example/"],
		["https:\\\\shop.example\\x", "https://shop.example/x"],
		["https://localhost:8443/cart", "https://localhost:8443/cart"],
	] as const) {
		assert.equal(landingUrl(text, hosts)?.href, href, text);
	}
	for (const text of [
		"http://shop.example/",
		"//shop.example/",
		"/shoes",
		"javascript:alert(1)",
		"https://www.shop.example/",
		"https://shop.example.evil.example/",
		"https://evil.example/https://shop.example",
		"https://evil.example\\@shop.example/",
		"https://shop.example@evil.example/",
		"https://user@shop.example/",
		"https://shop.example:8443/",
		"http://localhost/",
		"http://localhost:3000/",
		"https://localhost/",
		"https://localhost:9443/",
		"https://de.brand.example:8443/",
		"https://evilbrand.example/",
		"https://shop.example./",
		"https://[::1]/",
		// The URL parser turns this address into 9,000 characters.
		`https://shop.example/?${"ü".repeat(1_500)}`,
		"",
		"https://",
	]) {
		assert.equal(landingUrl(text, hosts), null, text);
	}
});

test("the click ID is added to the target's query once, and other visits bring none", () => {
	for (const [text, parameter, expected, without] of [
		["https://shop.example/x", "rbclick", "https://shop.example/x?rbclick=new", "https://shop.example/x"],
		["https://shop.example/x?", "rbclick", "https://shop.example/x?rbclick=new", "https://shop.example/x?"],
		[
			"https://shop.example/x?a=%20b#part",
			"rbclick",
			"https://shop.example/x?a=%20b&rbclick=new#part",
			"https://shop.example/x?a=%20b#part",
		],
		[
			"https://shop.example/?rbclick=old#part",
			"rbclick",
			"https://shop.example/?rbclick=new#part",
			"https://shop.example/#part",
		],
		[
			"https://shop.example/x?rbclick=old&a=1&rbclick=older",
			"rbclick",
			"https://shop.example/x?a=1&rbclick=new",
			"https://shop.example/x?a=1",
		],
		[
			"https://shop.example/x?a=1&rbclick=old",
			"cid",
			"https://shop.example/x?a=1&rbclick=old&cid=new",
			"https://shop.example/x?a=1&rbclick=old",
		],
	] as const) {
		const { href, beforeId, afterId } = landingAt(new URL(text), parameter);
		assert.equal(href, without);
		assert.equal(`${beforeId}new${afterId}`, expected);
		assert.equal(new URL(expected).href, expected);
	}
});
