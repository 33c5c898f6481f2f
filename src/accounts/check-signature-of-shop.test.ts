// The shop's side: requests to us that were signed wrongly, and what its own code computed for a callback. Through the
// real use case; what was signed is made from the contract's section 5 alone.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { after, before, test } from "node:test";
import { replaceSecret } from "../../test/support/replace-secret.ts";
import { signedRequest } from "../../test/support/signed-request.ts";
import { createSqliteDatabase } from "../../test/support/sqlite-database.ts";
import { createApp } from "../app.ts";
import { DAY_MS } from "../domain/time.ts";
import {
	CALLBACK_URL,
	type CalledShop,
	callBack,
	check,
	openCalledShop,
	type Seen,
	wrongIn,
} from "./check-signature.test-support.ts";
import { checkSignature } from "./check-signature.ts";
import { activateSecret, endReplacedSecrets, prepareSecret } from "./signing-secret.ts";

const TARGET = "/v1/conversions?dry=1&note=a%20b";
const BODY = '{"orderId":"Ä/1","basketValue":"10.00","list":[1,{"b":2}]}';
const NONCE = "00112233445566778899aabbccddeeff";

interface Signed {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string | Uint8Array;
	secret: string | Uint8Array;
	/** In place of the five lines. */
	text?(lines: string[]): string;
}

let shop: CalledShop;
const database = createSqliteDatabase();

before(async () => {
	const store = database.open();
	await store.migrate(0);
	shop = await openCalledShop(store);
});

after(() => database.remove());

function hmac({ method, target, timestamp, nonce, body, secret, text }: Signed): string {
	const digest = createHash("sha256").update(body).digest("hex");
	const lines = [method, target, timestamp, nonce, digest];
	return createHmac("sha256", secret)
		.update(text?.(lines) ?? lines.join("\n"))
		.digest("hex");
}

/** What is sent is right; what was signed is as `change` says. */
function request(change: Partial<Signed> = {}, sent: Partial<Seen> = {}): Seen {
	const timestamp = String(Math.floor(shop.site.deps.clock.nowMs() / 1000));
	const signed = {
		method: "POST",
		target: TARGET,
		timestamp,
		nonce: NONCE,
		body: BODY,
		secret: shop.secret,
		...change,
	};
	return {
		method: "POST",
		target: TARGET,
		headers: {
			Authorization: `Bearer ${shop.key}`,
			"X-Service-Timestamp": timestamp,
			"X-Service-Nonce": NONCE,
			"X-Service-Signature": hmac(signed),
		},
		body: BODY,
		...sent,
	};
}

const json = () => JSON.parse(BODY);
const REQUESTS: readonly (readonly [
	what: string,
	found: string,
	change: () => Partial<Signed>,
	text: RegExp,
])[] = [
	["the query was not signed", "query query-added", () => ({ target: "/v1/conversions" }), /Sign it too/],
	[
		"the query was decoded",
		"query query-encoding",
		() => ({ target: "/v1/conversions?dry=1&note=a b" }),
		/percent-encoded/,
	],
	[
		"the query was sorted",
		"query query-reordered",
		() => ({ target: "/v1/conversions?note=a%20b&dry=1" }),
		/another order/,
	],
	[
		"a space as plus",
		"query query-space",
		() => ({ target: TARGET.replace("%20", "+") }),
		/Sign what is sent/,
	],
	[
		"a slash too many",
		"path slash-removed",
		() => ({ target: TARGET.replace("?", "/?") }),
		/without the slash/,
	],
	[
		"no slash at the start",
		"path no-first-slash",
		() => ({ target: TARGET.slice(1) }),
		/begins with a slash/,
	],
	[
		"the whole URL",
		"path whole-url",
		() => ({ target: `https://ringback.example${TARGET}` }),
		/without scheme/,
	],
	["the wrong method", "method another-method", () => ({ method: "GET" }), /method GET/],
	["the method in lower case", "method another-method", () => ({ method: "post" }), /capital letters/],
	["indented JSON", "body json-spaces", () => ({ body: JSON.stringify(json(), null, 2) }), /two spaces/],
	[
		"Python's JSON",
		"body json-spaces",
		() => ({ body: '{"orderId": "\\u00c4/1", "basketValue": "10.00", "list": [1, {"b": 2}]}' }),
		/Python/,
	],
	["PHP's JSON", "body json-escapes", () => ({ body: BODY.replace("Ä/", "\\u00c4\\/") }), /PHP/],
	[
		"fields in another order",
		"body json-key-order",
		() => ({ body: '{"basketValue":"10.00","list":[1,{"b":2}],"orderId":"Ä/1"}' }),
		/order/,
	],
	["a line break more", "body body-line-break-removed", () => ({ body: `${BODY}\n` }), /not sent/],
	["a byte order mark", "body body-byte-order-mark", () => ({ body: `\uFEFF${BODY}` }), /byte order mark/],
	["an empty body", "body body-not-signed", () => ({ body: "" }), /empty body/],
	[
		"the body in Latin-1",
		"body body-charset",
		() => ({ body: Buffer.from(BODY, "latin1") }),
		/hashed in Latin-1/,
	],
	[
		"letters composed otherwise",
		"body body-unicode-form",
		() => ({ body: BODY.normalize("NFD") }),
		/NFC or NFD/,
	],
	[
		"signed in milliseconds",
		"timestamp timestamp-signed-in-milliseconds",
		() => ({ timestamp: String(Math.floor(shop.site.deps.clock.nowMs() / 1000) * 1000) }),
		/milliseconds/,
	],
	["the nonce in upper case", "nonce header-case", () => ({ nonce: NONCE.toUpperCase() }), /upper and lower/],
	[
		"a line feed at the end",
		"form form-line-feed-at-end",
		() => ({ text: (lines) => `${lines.join("\n")}\n` }),
		/last part/,
	],
	["joined by CRLF", "form form-crlf", () => ({ text: (lines) => lines.join("\r\n") }), /CRLF/],
	["joined by nothing", "form form-not-joined", () => ({ text: (lines) => lines.join("") }), /line feeds/],
	[
		"joined by a backslash and an n",
		"form form-backslash-n",
		() => ({ text: (lines) => lines.join("\\n") }),
		/single quotes/,
	],
	[
		"the digest in upper case",
		"form form-digest-upper-case",
		() => ({ text: (lines) => [...lines.slice(0, 4), lines[4]?.toUpperCase()].join("\n") }),
		/lower-case hex/,
	],
	[
		"the body in place of its digest",
		"form form-body-not-hashed",
		() => ({ text: (lines) => [...lines.slice(0, 4), BODY].join("\n") }),
		/Hash it first/,
	],
	["the body alone", "form form-body-alone", () => ({ text: () => BODY }), /body alone/],
	[
		"without the nonce",
		"form form-without-nonce",
		() => ({ text: ([a, b, c, , e]) => [a, b, c, e].join("\n") }),
		/nonce was not signed/,
	],
	[
		"as another service asks for it",
		"form form-timestamp-and-body",
		() => ({ text: (lines) => `${lines[2]}.${BODY}` }),
		/another service/,
	],
	[
		"the API key as secret",
		"secret api-key-as-secret",
		() => ({ secret: shop.key }),
		/Authorization header alone/,
	],
	[
		"a secret with a line break",
		"secret secret-line-break",
		() => ({ secret: `${shop.secret}\n` }),
		/line break/,
	],
	[
		"a secret with a space",
		"secret secret-white-space",
		() => ({ secret: `${shop.secret} ` }),
		/white space/,
	],
	["a secret in quotes", "secret secret-quoted", () => ({ secret: `"${shop.secret}"` }), /quotation marks/],
	[
		"a secret without its beginning",
		"secret secret-without-prefix",
		() => ({ secret: shop.secret.slice(4) }),
		/rbs_/,
	],
	[
		"a secret decoded from hex",
		"secret secret-decoded",
		() => ({ secret: Buffer.from(shop.secret.slice(4), "hex") }),
		/from hex/,
	],
	["no secret at all", "secret secret-not-set", () => ({ secret: "" }), /not set/],
	["a setting that is undefined", "secret secret-not-set", () => ({ secret: "undefined" }), /"undefined"/],
	[
		"an unknown secret",
		"secret secret-unknown",
		() => ({ secret: "rbs_other" }),
		/^None of this programme's secrets gives/,
	],
];

for (const [what, found, change, text] of REQUESTS) {
	test(`a request to us: ${what}: ${found}, and nothing else`, async () => {
		const checked = await check(shop, request(change()));
		equal(checked.direction, "request");
		deepEqual(wrongIn(checked), [found]);
		match(checked.steps.find(({ verdict }) => verdict === "bad")?.text ?? "", text);
	});
}

test("two mistakes in a request are both named, in every pair of parts", async () => {
	const known = REQUESTS.filter(([, found]) => found !== "secret secret-unknown");
	// Which part of the text is signed is one question: of a request that signs the body alone, the rest is not known.
	const plain = known.filter(([, found]) => !found.startsWith("form") && !found.startsWith("secret"));
	for (const [index, [what, found, change]] of plain.entries()) {
		for (const [other, alsoFound, alsoChange] of [plain.at(index - 4), known.at(-(index + 2))].filter(
			(one) => one !== undefined,
		)) {
			const part = (text: string) => text.split(" ")[0];
			const isSamePart =
				part(found) === part(alsoFound) || [found, alsoFound].every((one) => /^(?:path|query)/.test(one));
			if (isSamePart || /form-(?:body|timestamp|without)/.test(alsoFound)) continue;
			const checked = await check(shop, request({ ...change(), ...alsoChange() }));
			deepEqual(wrongIn(checked).toSorted(), [found, alsoFound].toSorted(), `${what} + ${other}`);
		}
	}
});

test("a request that is right is good, and one that was accepted before says so", async () => {
	const sent = request();
	const good = await check(shop, sent);
	deepEqual(wrongIn(good), []);
	match(good.conclusion, /would be accepted/);
	const { deps } = shop.site;
	const call = signedRequest("POST", "/v1/conversions", shop, {
		body: { orderId: "9", basketValue: "1.00" },
		nowMs: deps.clock.nowMs(),
	});
	const headers = Object.fromEntries(call.headers);
	equal((await createApp(deps).request(call)).status, 201);
	const spent = await check(shop, {
		method: "POST",
		target: "/v1/conversions",
		headers,
		body: '{"orderId":"9","basketValue":"1.00"}',
	});
	deepEqual(wrongIn(spent), []);
	match(spent.steps.find(({ part }) => part === "nonce")?.text ?? "", /replayed_nonce/);
});

test("what reached us and was refused is told beside it", async () => {
	const { deps } = shop.site;
	const app = createApp(deps);
	const nowMs = deps.clock.nowMs();
	const wrong = { key: shop.key, secret: "rbs_other" };
	const send = async (target: string, body: string) => {
		const call = signedRequest("POST", target, wrong, { body, nowMs });
		const headers = Object.fromEntries(call.headers);
		equal((await app.request(call)).status, 401);
		return { method: "POST", target, headers, body };
	};
	const arrived = async (seen: Seen) =>
		(await check(shop, seen)).steps.find(({ part }) => part === "arrival");
	const sent = await send("/v1/conversions?a=1", '{"orderId":"reached"}');
	match((await arrived(sent))?.text ?? "", /This very request reached us on 2026-03-01 12:00:00 UTC/);
	const elsewhere = await arrived({ ...sent, target: "/v1/conversions" });
	deepEqual([elsewhere?.cause, elsewhere?.difference?.seen], ["arrived-elsewhere", "?a=1"]);
	const changed = await arrived({ ...sent, body: '{"orderId": "reached"}' });
	equal(changed?.cause, "arrived-with-another-body");
	// Of two that were refused nobody knows which it is.
	await send("/v1/conversions?a=1", '{"orderId":"other"}');
	equal(await arrived({ ...sent, body: '{"orderId": "reached"}' }), undefined);
});

test("a clock that runs ahead is wrong; an old timestamp is only pointed out", async () => {
	const at = (seconds: number) => {
		const timestamp = String(Math.floor(shop.site.deps.clock.nowMs() / 1000) + seconds);
		const sent = request({ timestamp });
		return check(shop, { ...sent, headers: { ...sent.headers, "X-Service-Timestamp": timestamp } });
	};
	deepEqual(wrongIn(await at(301)), ["timestamp clock-ahead"]);
	deepEqual(wrongIn(await at(-300)), []);
	const old = await at(-3_600);
	deepEqual(wrongIn(old), []);
	equal(old.steps.find(({ part }) => part === "timestamp")?.verdict, "warn");
});

const COMPUTED: readonly (readonly [what: string, found: string, change: (sent: Seen) => Partial<Signed>])[] =
	[
		["the path alone", "query query-added", () => ({ target: new URL(CALLBACK_URL).pathname })],
		[
			"re-serialised JSON",
			"body json-spaces",
			(sent) => ({ body: JSON.stringify(JSON.parse(sent.body), null, 2) }),
		],
		[
			"a parsed path",
			"path path-encoding",
			(sent) => ({ target: decodeURI(sent.target.split("?")[0] ?? "") + new URL(CALLBACK_URL).search }),
		],
		["the body alone", "form form-body-alone", (sent) => ({ text: () => sent.body })],
		["a secret with a line break", "secret secret-line-break", () => ({ secret: `${shop.secret}\n` })],
		["an unset secret", "secret secret-not-set", () => ({ secret: "undefined" })],
		["another secret", "secret secret-unknown", () => ({ secret: "rbs_other" })],
	];

test("what the shop's code computed for a callback is explained, too", async () => {
	const sent = await callBack(shop, "computed");
	const { "X-Service-Timestamp": timestamp = "", "X-Service-Nonce": nonce = "" } = sent.headers;
	const right: Signed = {
		method: "POST",
		target: sent.target,
		timestamp,
		nonce,
		body: sent.body,
		secret: shop.secret,
	};
	const wrong = async (seen: Seen, computed: string) => {
		const found = await check(shop, seen, { computed });
		return (found.computed ?? [])
			.filter(({ verdict }) => verdict === "bad")
			.map(({ part, cause }) => `${part} ${cause}`);
	};
	for (const [what, found, change] of COMPUTED) {
		deepEqual(await wrong(sent, hmac({ ...right, ...change(sent) })), [found], what);
	}
	deepEqual(await wrong(sent, hmac(right)), []);
	const base64 = Buffer.from(hmac(right), "hex").toString("base64");
	deepEqual(await wrong(sent, base64), ["signature signature-in-base64"]);
	// Somebody pastes the value that their code computed where ours belongs.
	const pasted = {
		...sent,
		headers: { ...sent.headers, "X-Service-Signature": hmac({ ...right, secret: `${shop.secret}\n` }) },
	};
	const found = await check(shop, pasted);
	deepEqual(wrongIn(found), ["signature another-signature"]);
	deepEqual(
		found.computed?.map(({ cause }) => cause),
		["secret-line-break"],
	);
});

test("a pasted secret that is none of the programme's, an API key or in quotes says so, and is not repeated", async () => {
	const sent = await callBack(shop, "pasted");
	const told = async (secret: string) => {
		const found = await check(shop, sent, { secret });
		doesNotMatch(JSON.stringify(found), new RegExp(shop.secret.slice(4)));
		const { verdict, text = "" } = found.steps.find(({ part }) => part === "secret") ?? {};
		return `${verdict}: ${text}`;
	};
	match(await told(shop.secret), /^good: The right one: the secret you pasted/);
	match(await told(`  ${shop.secret}\n`), /^good/);
	const NOT_IT =
		/^bad: Compare the last characters of your secret with those under Keys and snippets\. This request was signed with the programme's active secret, not with what you pasted\.$/;
	match(await told("rbs_typo"), NOT_IT);
	match(await told(shop.key), /^bad: What you pasted is an API key/);
	match(await told(`"${shop.secret}"`), /^bad: What you pasted is that secret with quotation marks/);
	// A part of it is not recognised: it could be guessed bit by bit.
	for (const part of [shop.secret.slice(0, 20), shop.secret.slice(0, -1)]) {
		match(await told(part), NOT_IT);
	}
});

test("each secret that was good at the time explains a callback or a request of that time", async () => {
	const { deps } = shop.site;
	const first = shop.secret;
	const early = await callBack(shop, "early");
	const toUs = request();
	shop.site.moveClock(60_000);
	const prepared = await prepareSecret(deps, shop.programme.public_id);
	ok(prepared.ok);
	const withPrepared = await check(shop, request({ secret: prepared.value.secret }));
	deepEqual(wrongIn(withPrepared), []);
	match(withPrepared.steps.at(-1)?.text ?? "", /prepared secret, which is not active yet\. We accept it/);
	shop.site.moveClock(60_000);
	await activateSecret(deps, shop.programme.public_id, prepared.value.secretId);
	const late = await callBack(shop, "late");
	deepEqual(wrongIn(await check(shop, late)), []);
	const checked = await check(shop, early);
	deepEqual(wrongIn(checked), []);
	match(checked.steps.at(-1)?.text ?? "", /the secret that was active then .* replaced on/);
	match((await check(shop, request({ secret: first }))).steps.at(-1)?.text ?? "", /We accept it until/);
	await endReplacedSecrets(deps, shop.programme.public_id);
	shop.site.moveClock(1_000);
	deepEqual(wrongIn(await check(shop, request({ secret: first }))), ["secret secret-ended"]);
	// Signed before it ended: it was good then.
	deepEqual(wrongIn(await check(shop, toUs)), []);
	shop.site.moveClock(2 * DAY_MS);
	deepEqual(wrongIn(await check(shop, early)), []);
	ok((await replaceSecret(deps, shop.programme.public_id)).ok);
	for (const secret of [first, prepared.value.secret]) {
		doesNotMatch(JSON.stringify(await check(shop, early)), new RegExp(secret.slice(4)));
	}
});

test("a hostile paste costs no more than a bounded time", async () => {
	const deep = "[".repeat(60_000) + "]".repeat(60_000);
	const spaces = `X-Service-Nonce:${" ".repeat(16_000)}x`;
	const many = Array.from({ length: 2_000 }, (_, n) => `X-${n}: 1`).join("\n");
	const trio = Object.entries(request().headers).map(([name, value]) => `${name}: ${value}`);
	const pastes = [
		{ body: deep, headers: trio.join("\n"), target: TARGET },
		{ body: "x".repeat(131_072), headers: trio.join("\n"), target: "/".repeat(4_096) },
		{ body: `"${"\\u00e4".repeat(20_000)}"`, headers: trio.join("\n"), target: `/?${"a&".repeat(2_000)}` },
		{
			body: `{${Array.from({ length: 5_000 }, (_, n) => `"${n}":1`).join()}}`,
			headers: many,
			target: "/%".repeat(2_000),
		},
		{ body: "\n".repeat(131_072), headers: [...trio, spaces].join("\n"), target: TARGET },
		{ body: "&quot;".repeat(20_000), headers: trio.join("\n"), target: TARGET },
	];
	const question = { secret: "x".repeat(1_024), computed: "0".repeat(64) };
	for (const paste of pastes) {
		const startedAt = performance.now();
		const found = await checkSignature(shop.site.deps, shop.programme, {
			pasted: { method: "POST", ...paste },
			...question,
		});
		equal(found.isGood, false);
		ok(performance.now() - startedAt < 5_000, "far from hanging");
	}
});
