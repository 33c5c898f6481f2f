import assert from "node:assert/strict";
import { test } from "node:test";
import { parseRange } from "./address.ts";
import type { Fault } from "./fault.ts";
import { judgeHost, type PostbackUrl, parsePostbackUrl, refusePlaceholder } from "./postback-url.ts";

const LABEL_63 = "a".repeat(63);
const HOST_253 = `${LABEL_63}.${LABEL_63}.${LABEL_63}.${"b".repeat(61)}`;
const BASE = "https://shop.example/";

test("a URL in the form that goes on the wire is accepted as it is", () => {
	const urls = [
		...[BASE, `${BASE}postback`, `${BASE}a/b/c?x=1&y=2`, `${BASE}?x=1`, `${BASE}a?b?c`, `${BASE}//a//`],
		...[`${BASE}%C3%A4?q=%20%23`, `${BASE}a@b:c`, `${BASE}a|b[c]`, `${BASE}?a={b}|[c]^d\`e`, `${BASE}%zz?%`],
		...[
			`${BASE}...`,
			`${BASE}a;b=c,d/$!'()*+`,
			`${BASE}?x=https://other.example/`,
			`${BASE}?x=..`,
			`${BASE}%2F%2f`,
		],
		...[
			"https://shop.example:8443/x",
			"https://shop.example:1/",
			"https://shop.example:65535/",
			"https://localhost/",
		],
		...["https://a_b.shop-1.example/", "https://xn--bcher-kva.example/", `https://${LABEL_63}.example/`],
		...[`https://${HOST_253}/`, "https://93.184.215.14/x", "https://[2a00:1450::1]:8443/x?y"],
		...[BASE + "a".repeat(2_048 - BASE.length), `${BASE}?${"a".repeat(2_047 - BASE.length)}`],
	];
	for (const url of urls) {
		const { href, origin, target } = accepted(url);
		assert.equal(href, url);
		assert.equal(origin + target, url);
	}
});

test("a host, scheme or port in another spelling is normalized as the URL parser does it", () => {
	const cases: [entered: string, href: string][] = [
		["  https://shop.example/x\n", "https://shop.example/x"],
		["\u00a0\ufeffhttps://shop.example/x\u2003", "https://shop.example/x"],
		["HTTPS://Shop.EXAMPLE/X", "https://shop.example/X"],
		["https://shop.example:443/x", "https://shop.example/x"],
		["https://shop.example:/x", "https://shop.example/x"],
		["https://shop.example:08443/x", "https://shop.example:8443/x"],
		["https://bücher.example/x", "https://xn--bcher-kva.example/x"],
		["https://shop。example/x", "https://shop.example/x"],
		["https://sh%6Fp.example/x", "https://shop.example/x"],
		["https://sh\u00adop.example/x", "https://shop.example/x"],
		["https://[2A00:1450:0:0::1]/x", "https://[2a00:1450::1]/x"],
		["https://[::ffff:8.8.8.8]/x", "https://[::ffff:808:808]/x"],
		["https://8.8.2056/x", "https://8.8.8.8/x"],
	];
	for (const [entered, href] of cases) assert.equal(accepted(entered).href, href, entered);
});

test("an accepted URL is split into the parts that connecting and signing need", () => {
	assert.deepEqual(accepted("https://Shop.example:8443/a/b?c=d"), {
		href: "https://shop.example:8443/a/b?c=d",
		origin: "https://shop.example:8443",
		hostname: "shop.example",
		port: 8_443,
		target: "/a/b?c=d",
		isLiteral: false,
	});
	assert.deepEqual(accepted("https://[2a00:1450::1]/"), {
		href: "https://[2a00:1450::1]/",
		origin: "https://[2a00:1450::1]",
		hostname: "2a00:1450::1",
		port: 443,
		target: "/",
		isLiteral: true,
	});
});

test("a URL that cannot be used is refused with its code and a sentence that says why", () => {
	/**
	 * URLs that are refused. `words` is a list separated by spaces, and URLs that contain a space follow it one
	 * by one.
	 */
	const cases: [code: string, says: string, words: string, ...odd: string[]][] = [
		["malformed", "no URL", "", "", " \t\n"],
		[
			"malformed",
			"begin with https://",
			"shop.example/x //shop.example/x https:shop.example/x https:/shop.example/x https",
		],
		[
			"malformed",
			"backslash",
			"",
			"https://shop.example\\x",
			"https:\\\\shop.example/x",
			"https://good.example\\@127.0.0.1/",
			`${BASE}a\\b`,
		],
		[
			"malformed",
			"control character",
			"",
			`${BASE}a\tb`,
			`${BASE}a\r\nHost: x`,
			"https://sh\nop.example/",
			"ht\ttps://shop.example/",
			`${BASE}a\0`,
			`\0${BASE}`,
			`${BASE}\u007f`,
			`${BASE}\u0085b`,
			`${BASE}\ud800`,
		],
		["malformed", 'port "0"', "https://shop.example:0/ https://[2a00::1]:0/"],
		["malformed", 'port "000"', "https://shop.example:000/"],
		["malformed", "from 1 to 65535", "https://shop.example:65536/"],
		["malformed", 'port "-1"', "https://shop.example:-1/"],
		["malformed", 'port "https"', "https://shop.example:https/"],
		["malformed", 'port "80 "', "", "https://shop.example:80 /"],
		["malformed", "must begin with https://", "localhost:3000 shop.example:8443/postback"],
		[
			"not_https",
			"https://",
			`http://shop.example/x HTTP://shop.example/x ftp://shop.example/x javascript:alert(1)
			file:///etc/passwd data:text/plain,x httpss://shop.example/ wss://shop.example/`,
		],
		["too_long", "2,049 characters", "", BASE + "a".repeat(2_049 - BASE.length)],
		["too_long", "at most 2,048", "", "x".repeat(1_000_000)],
		["too_long", "2,421 characters in the form that is sent", `${BASE}${"ä".repeat(400)}`],
		[
			"has_credentials",
			"@",
			`https://me@shop.example/ https://me:secret@shop.example/ https://@shop.example/
			https://:@shop.example/ https://good.example@127.0.0.1/ https://a@b@shop.example/`,
		],
		["has_fragment", "#", `${BASE}x#part ${BASE}x# https://shop.example# https://good.example#@127.0.0.1/`],
		["host_invalid", "no host", "https:// https:///shop.example/x https://?x https://:8443/x"],
		[
			"host_invalid",
			"without the trailing dot",
			`https://shop.example./x https://shop.example.:8443/x https://shop.example。/x
			https://shop.example%2e/x https://8.8.8.8./x`,
		],
		["host_invalid", 'the part ""', "https://shop..example/x https://.shop.example/x"],
		["host_invalid", "1 to 63 letters", "", `https://${LABEL_63}a.example/`],
		["host_invalid", "254 characters", "", `https://${HOST_253}b/`],
		["host_invalid", 'the part "sh*p"', "https://sh*p.example/"],
		["host_invalid", "letters, digits", "https://'shop'.example/"],
		[
			"host_invalid",
			"not a name",
			`https://sh%20op.example/ https://me%40shop.example/ https://good.example＠127.0.0.1/
			https://good.example／x/ https://good.example＃x/ https://%00/ https://256.1.1.1/
			https://1.2.3.4.5/ https://shop.0x7f/ https://[2a00::1/ https://[2a00::1]x/
			https://[fe80::1%25eth0]/ https://[shop.example]/`,
			"https://sh op.example/",
		],
		["host_invalid", "IPv6 goes in brackets", "https://2a00:1450::1/ https://fe80::abcd/"],
	];
	for (const [code, says, words, ...odd] of cases) {
		for (const entered of [...words.split(/\s+/).filter((word) => word !== ""), ...odd]) {
			const { detail, ...rest } = refused(entered);
			const fault = { code: `postback_url_${code}`, httpStatus: 422, field: "postbackUrl" };
			assert.deepEqual(rest, fault, JSON.stringify(entered.slice(0, 80)));
			assert.ok(detail.includes(says), `${JSON.stringify(entered.slice(0, 80))}: ${detail}`);
		}
	}
});

test("a path or query that is not in its wire form is refused with the URL to enter", () => {
	const cases: [entered: string, instead: string][] = [
		["https://Shop.example?x=1", "https://shop.example/?x=1"],
		["https://[2A00::1]?x", "https://[2a00::1]/?x"],
		["https://shop.example?x=a@b", "https://shop.example/?x=a@b"],
		[`${BASE}x?`, `${BASE}x`],
		[`${BASE}a b`, `${BASE}a%20b`],
		[`${BASE}?a b`, `${BASE}?a%20b`],
		[`${BASE}ä?ö`, `${BASE}%C3%A4?%C3%B6`],
		[`${BASE}😀`, `${BASE}%F0%9F%98%80`],
		[`${BASE}a\u2028b`, `${BASE}a%E2%80%A8b`],
		[`${BASE}a/../b`, `${BASE}b`],
		[`${BASE}../../b`, `${BASE}b`],
		[`${BASE}a/./b`, `${BASE}a/b`],
		[`${BASE}a/..`, BASE],
		[`${BASE}a/%2e%2E/b`, `${BASE}b`],
		[`${BASE}a/.%2e`, BASE],
		[`${BASE}"<>`, `${BASE}%22%3C%3E`],
		[`${BASE}{a}\`^`, `${BASE}%7Ba%7D%60%5E`],
		[`${BASE}?'"<>`, `${BASE}?%27%22%3C%3E`],
	];
	for (const [entered, instead] of cases) {
		const { code, detail } = refused(entered);
		assert.equal(code, "postback_url_not_wire_form", entered);
		assert.ok(detail.endsWith(` ${instead}`), `${entered}: ${detail}`);
		assert.equal(accepted(instead).href, instead, "what the sentence shows is accepted");
	}
});

test("a URL without a path is accepted with the slash that is sent", () => {
	const cases: [entered: string, saved: string][] = [
		["https://shop.example", "https://shop.example/"],
		["https://shop.example:443", "https://shop.example/"],
		["https://shop.example:8443", "https://shop.example:8443/"],
		["https://bücher.example", "https://xn--bcher-kva.example/"],
		["https://[2A00::1]", "https://[2a00::1]/"],
	];
	for (const [entered, saved] of cases) {
		const { href, target } = accepted(entered);
		assert.deepEqual([href, target], [saved, "/"]);
	}
	const literal = judgeHost(accepted("https://192.168.1.1"), [], []);
	assert.ok(!literal.ok, "and its host is what it is judged by");
	assert.equal(
		literal.fault.detail,
		"192.168.1.1 is not public (private). The Postback URL must point to a public address.",
	);
});

test("a name whose addresses are all public gives these addresses to connect to", () => {
	const addresses = ["93.184.215.14", "2606:4700::1111"];
	assert.deepEqual(judgeHost(accepted(BASE), addresses, []), { ok: true, value: addresses });
});

test("a public IP address is used as it is, whatever a lookup returned", () => {
	for (const addresses of [[], ["10.0.0.5"], ["9.9.9.9"]]) {
		const result = judgeHost(accepted("https://[2a00:1450::1]/"), addresses, []);
		assert.deepEqual(result, { ok: true, value: ["2a00:1450::1"] });
	}
});

test("one private address among public ones refuses the host, and the address is not shown", () => {
	const result = judgeHost(accepted(BASE), ["93.184.215.14", "10.0.0.5"], []);
	assert.deepEqual(result, {
		ok: false,
		fault: {
			code: "postback_url_forbidden_address",
			httpStatus: 422,
			field: "postbackUrl",
			detail:
				"shop.example resolves to a private or internal address. Enter the name of a server that can be " +
				"reached from the internet, or correct the name's DNS record and save again.",
		},
	});
});

test("a name without any address is refused as one that does not resolve", () => {
	const result = judgeHost(accepted(BASE), [], []);
	assert.equal(result.ok ? "accepted" : result.fault.code, "postback_url_unresolvable");
});

test("an allowed range permits a private IP address in the URL and in a DNS answer", () => {
	const allowed = [parseRange("127.0.0.0/8") ?? assert.fail()];
	assert.equal(judgeHost(accepted("https://127.0.0.1:8443/x"), [], allowed).ok, true);
	assert.equal(judgeHost(accepted("https://localhost/x"), ["127.0.0.1"], allowed).ok, true);
	const refused = judgeHost(accepted("https://localhost/x"), ["127.0.0.1", "::1"], allowed);
	// If the settings allow any private addresses, the reader is a developer, who needs to know which address
	// is not allowed.
	assert.match(refused.ok ? "" : refused.fault.detail, /localhost.*::1 .*RINGBACK_ALLOWED_PRIVATE_RANGES/);
});

function accepted(text: string): PostbackUrl {
	const result = parsePostbackUrl(text);
	return result.ok ? result.value : assert.fail(`${JSON.stringify(text)}: ${result.fault.detail}`);
}

function refused(text: string): Fault {
	const result = parsePostbackUrl(text);
	return result.ok ? assert.fail(`${JSON.stringify(text)} must not be accepted`) : result.fault;
}

test("placeholders of other networks are refused by name, and similar texts are accepted", () => {
	for (const [placeholder, url] of [
		["{order_id}", "https://shop.example/p?order={order_id}"],
		["{order id}", "https://shop.example/{order id}/p"],
		["%7Border_id%7D", "https://shop.example/p?order=%7Border_id%7D"],
		["[status]", "https://shop.example/p?s=[status]&x=1"],
		["#click#", "https://shop.example/p?c=#click#"],
	] as const) {
		const refused = refusePlaceholder(url);
		assert.ok(
			refused?.fault.detail.startsWith(`Placeholders such as ${placeholder} are not filled in.`),
			url,
		);
	}
	for (const url of [
		"https://shop.example/p?filter[status]=x",
		"https://[2001:db8::1]/p",
		"https://shop.example/p#x",
	]) {
		assert.equal(refusePlaceholder(url), null, url);
	}
});
