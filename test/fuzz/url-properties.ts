// Properties of the URL policy. It accepts only allowed URLs, and the signed target is the one that is sent.

import { deepEqual, equal, ok } from "node:assert/strict";
import { verifyPostback } from "@ringback/receiver";
import fc from "fast-check";
import { parseRange } from "#core/domain/address.ts";
import { type PostbackUrl, parsePostbackUrl } from "#core/domain/postback-url.ts";
import { createHttpsTransport } from "../../src/outside/https-transport.ts";
import { createRandom } from "../../src/outside/random.ts";
import { startShop } from "../support/shop.ts";
import { ANY_EVENT_NAME, ANY_SUBJECT, ANY_TEXT } from "./any-event.ts";
import { type FuzzProperty, pureProperty } from "./fuzz-property.ts";
import { prepareCallback, readHeaderList } from "./sent-callback.ts";

const MAX_LENGTH = 2_048;

/** Generates mostly right words, so that whole URLs are valid often enough. */
function mostly(right: readonly string[], wrong: readonly string[]): fc.Arbitrary<string> {
	return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...right) }, fc.constantFrom(...wrong));
}

const SCHEME = mostly(
	["https://"],
	["http://", "HTTPS://", "https:/", "https:", "//", "", "javascript:", "ftp://", " https://", "https:\\\\"],
);
const USER = mostly([""], ["user@", "user:word@", "@", ":@", "%40@"]);
const HOST = mostly(
	["shop.example", "a.b-c.example", "93.184.216.34", "[2606:2800:220:1::1]", "xn--bcher-kva.example"],
	[
		...[
			"Bücher.example",
			"SHOP.example",
			"shop.example.",
			"1.2.3",
			"0x7f.1",
			"2130706433",
			"[::ffff:10.0.0.1]",
		],
		...["", "a..b", "-", "_dmarc.example", "shop%2eexample", "shop。example", "a".repeat(64), "[::1", "e x"],
	],
);
const PORT = mostly([""], [":443", ":8443", ":0", ":65536", ":00443", ":", ":-1", ":8a", ":٤٤٣"]);
const PIECE = fc.oneof(
	fc.constantFrom(
		"/",
		"//",
		"/a",
		"/postback",
		"?",
		"&",
		"=",
		"a=b",
		"%20",
		"%2F",
		"%zz",
		"%",
		"+",
		";",
		":",
	),
	fc.constantFrom(".", "..", "/./", "/../", "/%2e%2e/", "%2E", "\\", "#", "#a", "'", '"', "<", ">", "^", "`"),
	fc.constantFrom("{", "|", " ", "\t", "\n", "\0", "é", "😀", "\ud800", "\ufeff", "@", "//evil.example/"),
);
const PIECES = fc.array(PIECE, { maxLength: 6 }).map((pieces) => pieces.join(""));
/** Generates exactly the characters that RFC 3986 allows in a path and a query, without dot segments. */
const CLEAN = fc.stringMatching(
	/^\/[a-z0-9_~!$&'()*+,;=:@-]{0,20}(?:\/[a-z0-9_-]{1,9}){0,3}(?:\?[a-z0-9_&=/?-]{1,20})?$/,
);
const PADDING = fc.oneof(
	{ weight: 20, arbitrary: fc.constant("") },
	fc.integer({ min: MAX_LENGTH - 60, max: MAX_LENGTH + 5 }).map((length) => `/${"x".repeat(length)}`),
);

const NEARLY_A_URL = fc
	.tuple(SCHEME, USER, HOST, PORT, fc.oneof(PIECES, CLEAN, fc.webPath()), PADDING)
	.map((parts) => parts.join(""));

const POLICY = pureProperty(
	"a text entered as Postback URL is refused, or requested exactly as typed",
	["accepted", "refused", "corrected"],
	(meet) =>
		fc.property(fc.oneof({ weight: 4, arbitrary: NEARLY_A_URL }, ANY_TEXT, fc.webUrl()), (text) => {
			const parsed = parsePostbackUrl(text);
			meet(parsed.ok ? "accepted" : "refused");
			if (parsed.ok) return checkAccepted(text, parsed.value);
			const { code, detail, field } = parsed.fault;
			ok(detail.length > 0 && field === "postbackUrl");
			if (code !== "postback_url_not_wire_form") return;
			meet("corrected");
			const instead = detail.split(" ").at(-1) ?? "";
			const again = parsePostbackUrl(instead);
			equal(again.ok && again.value.href, instead, "the URL to enter instead, which the sentence ends with");
		}),
);

function checkAccepted(text: string, url: PostbackUrl): void {
	const { protocol, username, password, hash, pathname, search, port, hostname } = new URL(url.href);
	deepEqual([protocol, username, password, hash], ["https:", "", "", ""]);
	ok(url.href.length <= MAX_LENGTH && !url.href.includes("#"));
	ok(!url.origin.includes("@"), "no user, not even an empty one");
	equal(pathname + search, url.target, "what is signed is what a client would send");
	equal(url.href, url.origin + url.target);
	const isBareHost = /^https:\/\/[^/?]*$/i.test(text.trim());
	if (isBareHost) equal(url.target, "/");
	else ok(text.trim().endsWith(url.target), "and what was typed");
	ok(/^\/[\x21-\x7e]*$/.test(url.target), "it fits on a request line");
	equal(url.port, port === "" ? 443 : Number(port));
	equal(url.hostname, hostname.replace(/^\[|\]$/g, ""));
	deepEqual(parsePostbackUrl(url.href), { ok: true, value: url }, "a saved URL is read back the same");
}

const CLEAN_URLS = pureProperty("a plain https URL of a name and a clean path is accepted", [], () =>
	fc.property(fc.domain(), CLEAN, fc.option(fc.integer({ min: 1, max: 65_535 })), (host, target, port) => {
		const shownPort = port === null || port === 443 ? "" : `:${port}`;
		const parsed = parsePostbackUrl(`https://${host}${shownPort}${target}`);
		ok(parsed.ok, parsed.ok ? "" : parsed.fault.detail);
		equal(parsed.value.target, target);
		equal(parsed.value.href, `https://${host.toLowerCase()}${shownPort}${target}`);
	}),
);

const ON_THE_WIRE: FuzzProperty = {
	name: "the request line of a callback is the target that was signed",
	kinds: ["sent"],
	share: 0.2,
	async open({ meet }) {
		const shop = await startShop();
		const range = parseRange("127.0.0.0/8");
		ok(range !== undefined);
		const transport = createHttpsTransport({ allowedPrivateRanges: [range], trustedCa: shop.caPem });
		const secret = "example-signing-secret";
		const random = createRandom();
		const anyTarget = fc.oneof(
			CLEAN,
			PIECES.map((pieces) => `/${pieces}`),
			fc.stringMatching(/^\/[\x21-\x7e]{0,60}$/),
		);
		const property = fc.asyncProperty(
			anyTarget,
			ANY_EVENT_NAME,
			ANY_SUBJECT,
			async (entered, event, subject) => {
				const parsed = parsePostbackUrl(shop.url(entered));
				if (!parsed.ok) return;
				meet("sent");
				const { href: url, target } = parsed.value;
				const nowMs = Date.now();
				const callback = { event, subject, url, target, secret, brand: "Service", random, nowMs };
				const sent = prepareCallback(callback);
				const { outcome } = await transport.post(sent);
				deepEqual(outcome, { kind: "answered", status: 204 });
				const request = shop.requests.at(-1);
				ok(request !== undefined);
				equal(request.path, target);
				equal(request.body.toString(), sent.body);
				const headers = readHeaderList(request.rawHeaders);
				const { path, body: rawBody } = request;
				ok((await verifyPostback({ path, headers, rawBody, secret, now: nowMs })).ok);
			},
		);
		return {
			property,
			async close() {
				await transport.close();
				await shop.close();
			},
		};
	},
};

export const URL_PROPERTIES: readonly FuzzProperty[] = [POLICY, CLEAN_URLS, ON_THE_WIRE];
