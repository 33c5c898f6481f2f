// Tests each mistake with a real signed request. Callbacks are composed and signed by the engine's own code.
// Requests to us are signed by separate code, which was written from section 5 of the contract.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { raiseReceiverIds } from "../../../test/support/receiver-ids.ts";
import { createSqliteDatabase } from "../../../test/support/sqlite-database.ts";
import type { SentRequest } from "../domain/callback-request.ts";
import { DAY_MS } from "../domain/time.ts";
import { COMMAND_LINE } from "../people/actor.ts";
import { activateSecret, endReplacedSecrets, prepareSecret } from "../programmes/signing-secret.ts";
import { insertSecret } from "../store/queries/signing-secrets.ts";
import {
	CALLBACK_URL,
	type CalledShop,
	callBack,
	check,
	hmac,
	openCalledShop,
	type Signed,
	textOf,
} from "./called-shop.test-support.ts";
import { checkSignature, pasteSent } from "./check-signature.ts";
import { firstDifference } from "./difference.ts";
import { MISTAKES } from "./mistakes.ts";
import type { PastedRequest } from "./pasted-request.ts";

const { pathname: PATH, search: QUERY } = new URL(CALLBACK_URL);
const TARGET = "/v1/conversions?dry=1&note=a%20b";
const BODY = '{"orderId":"Ä/1","basketValue":"10.00","list":[1,{"b":2}]}';
const NONCE = "00112233445566778899aabbccddeeff";

const database = createSqliteDatabase();
let shop: CalledShop;
let sent: SentRequest;

before(async () => {
	const store = database.open();
	await store.migrate(0);
	await raiseReceiverIds(store);
	shop = await openCalledShop(store);
	sent = await callBack(shop, "Ä-1001");
});
after(() => database.remove());

const now = () => String(Math.floor(shop.site.deps.clock.nowMs() / 1_000));
const bareSecret = () => shop.secret.slice("rbs_".length);
const base64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");

/** Returns the values with which a request to us has to be signed. */
function right(): Signed {
	return { method: "POST", target: TARGET, timestamp: now(), nonce: NONCE, body: BODY, secret: shop.secret };
}

/** Returns a correct request to us, except that `sign` computes its signature. */
function request(sign: (signed: Signed) => string, timestamp = now()): PastedRequest {
	const headers = {
		Authorization: `Bearer ${shop.key}`,
		"X-Service-Timestamp": timestamp,
		"X-Service-Nonce": NONCE,
		"X-Service-Signature": sign({ ...right(), timestamp }),
	};
	const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
	return { method: "POST", target: TARGET, headers: lines.join("\r\n"), body: BODY };
}

/** Returns a request to us whose signature was computed with some values changed. */
const signedAs = (change: Partial<Signed>) =>
	request((signed) => {
		const other = { ...signed, ...change };
		return hmac(other.secret, textOf(other));
	});
const signedText = (write: (signed: Signed, digest: string) => string) =>
	request((signed) =>
		hmac(signed.secret, write(signed, createHash("sha256").update(signed.body).digest("hex"))),
	);

/** Requests with each mistake, by the name under which the page shows the mistake. */
const MADE: Readonly<Record<string, readonly (readonly [what: string, make: () => PastedRequest])[]>> = {
	"The signature was not in hex": [
		["base64", () => request((signed) => base64(hmac(signed.secret, textOf(signed))))],
		["a prefix", () => request((signed) => `sha256=${hmac(signed.secret, textOf(signed))}`)],
	],
	"The body had other bytes at its start or end, or other line breaks": [
		["a line break at the end", () => signedAs({ body: `${BODY}\n` })],
		["a CRLF at the end", () => signedAs({ body: `${BODY}\r\n` })],
		["a byte order mark", () => signedAs({ body: `\ufeff${BODY}` })],
		["a body that was already read", () => signedAs({ body: "" })],
	],
	"The body was serialised again": [
		["indented JSON", () => signedAs({ body: JSON.stringify(JSON.parse(BODY), null, 2) })],
		[
			"Python's JSON",
			() => signedAs({ body: '{"orderId": "\\u00c4/1", "basketValue": "10.00", "list": [1, {"b": 2}]}' }),
		],
		["PHP's JSON", () => signedAs({ body: BODY.replace("Ä/", "\\u00c4\\/") })],
	],
	"Another path was signed": [
		["the whole URL", () => signedAs({ target: `https://ringback.example${TARGET}` })],
		["no query", () => signedAs({ target: "/v1/conversions" })],
		["the path below the base URL", () => signedAs({ target: TARGET.slice("/v1".length) })],
		["the base URL's path twice", () => signedAs({ target: `/v1${TARGET}` })],
		["a slash at the end", () => signedAs({ target: TARGET.replace("?", "/?") })],
	],
	"Another method was signed": [
		["GET", () => signedAs({ method: "GET" })],
		["lower case", () => signedAs({ method: "post" })],
	],
	"Another secret was used": [
		["the API key", () => signedAs({ secret: shop.key })],
		["nothing", () => signedAs({ secret: "" })],
		["an unset variable", () => signedAs({ secret: "undefined" })],
	],
	"The secret was changed before it was used": [
		["a line break at the end", () => signedAs({ secret: `${shop.secret}\n` })],
		["a space before it", () => signedAs({ secret: ` ${shop.secret}` })],
		["quotation marks", () => signedAs({ secret: `"${shop.secret}"` })],
		["no rbs_", () => signedAs({ secret: bareSecret() })],
		["decoded from hex", () => signedAs({ secret: Buffer.from(bareSecret(), "hex") })],
		["decoded from base64", () => signedAs({ secret: Buffer.from(bareSecret(), "base64") })],
	],
	"The timestamp was in milliseconds": [
		["signed", () => signedAs({ timestamp: `${now()}000` })],
		["sent", () => request(() => hmac(shop.secret, textOf(right())), `${now()}123`)],
	],
	"The five parts were joined in another way": [
		["a line feed at the end", () => signedText((signed) => `${textOf(signed)}\n`)],
		["no line feeds", () => signedText((signed) => textOf(signed).replaceAll("\n", ""))],
		[
			"no nonce",
			() =>
				signedText(({ method, target, timestamp }, digest) => [method, target, timestamp, digest].join("\n")),
		],
		[
			"nonce before timestamp",
			() =>
				signedText(({ method, target, timestamp, nonce }, digest) =>
					[method, target, nonce, timestamp, digest].join("\n"),
				),
		],
		[
			"the body in place of its digest",
			() =>
				signedText(({ method, target, timestamp, nonce, body }) =>
					[method, target, timestamp, nonce, body].join("\n"),
				),
		],
	],
	"The digest of the body was not in lower-case hex": [
		[
			"upper case",
			() => signedText((signed, digest) => textOf(signed).replace(digest, digest.toUpperCase())),
		],
		["base64", () => signedText((signed, digest) => textOf(signed).replace(digest, base64(digest)))],
	],
};

test("every mistake in the table is covered by a test", () => {
	equal(MISTAKES.length, 10);
	deepEqual(
		Object.keys(MADE),
		MISTAKES.map(({ name }) => name),
	);
});

for (const [name, cases] of Object.entries(MADE)) {
	for (const [what, make] of cases) {
		test(`a request to us with ${what}: "${name}"`, async () => {
			const checked = await check(shop, make());
			equal(checked.isGood, false);
			ok(checked.conclusion.startsWith(`${name}.`), checked.conclusion);
			equal(checked.advice, MISTAKES.find((mistake) => mistake.name === name)?.cure);
			equal(checked.canonical, textOf({ ...right(), timestamp: checked.canonical?.split("\n")[2] ?? "" }));
			doesNotMatch(JSON.stringify(checked), new RegExp(`${bareSecret()}|${shop.key}`));
		});
	}
}

test("the first difference shows what was signed and what has to be signed", async () => {
	const { difference: path } = await check(shop, signedAs({ target: "/v1/conversions" }));
	deepEqual(path, {
		part: "path and query",
		offset: 15,
		before: "/v1/conversions",
		sides: [
			["Signed", ""],
			["To be signed", "?dry=1&note=a%20b"],
		],
	});
	const { difference: body } = await check(shop, signedAs({ body: `${BODY}\n` }));
	deepEqual(body?.sides, [
		["Signed", "[U+000A]"],
		["To be signed", ""],
	]);
	const { difference: text } = await check(
		shop,
		signedText((signed) => `${textOf(signed)}\n`),
	);
	deepEqual(
		[text?.part, text?.sides],
		[
			"text to sign",
			[
				["Signed", "[U+000A]"],
				["To be signed", ""],
			],
		],
	);
	equal((await check(shop, signedAs({ secret: shop.key }))).difference, null);
});

test("a request with the right signature is good, and a wrong clock is named", async () => {
	const sign = (signed: Signed) => hmac(signed.secret, textOf(signed));
	const good = await check(shop, request(sign));
	ok(good.isGood);
	match(good.conclusion, /^The signature is right\. It was made with the active secret …\w+\.$/);
	match(good.advice, /unless its nonce was used before/);
	ok(
		(
			await check(
				shop,
				request((signed) => sign(signed).toUpperCase()),
			)
		).isGood,
		"upper-case hex is accepted",
	);
	const seconds = Number(now());
	for (const [timestamp, isGood, advice] of [
		[String(seconds + 301), false, /more than 300 seconds away from our clock/],
		[String(seconds - 3_600), true, /If it was sent just now, correct the sender's clock/],
		[`${seconds}123`, false, /Unix time in seconds, which has ten digits/],
		["2026-03-01T12:00:00Z", false, /not Unix time in seconds/],
	] as const) {
		const checked = await check(shop, request(sign, timestamp));
		equal(checked.isGood, isGood, timestamp);
		match(checked.conclusion, /^The signature is right/, timestamp);
		match(checked.advice, advice, timestamp);
	}
});

test("a signature that no mistake explains is said to be unexplained, and the text to sign is shown", async () => {
	const twoMistakes = signedAs({
		target: "/v1/conversions",
		body: JSON.stringify(JSON.parse(BODY), null, 2),
	});
	for (const pasted of [signedAs({ secret: "rbs_other" }), twoMistakes, request(() => "signature")]) {
		const checked = await check(shop, pasted);
		equal(checked.conclusion, "None of the ten usual mistakes explains this signature.");
		match(checked.advice, /^Compare the text below/);
		deepEqual([checked.isGood, checked.difference, checked.canonical], [false, null, textOf(right())]);
	}
});

test("missing headers are named", async () => {
	const checked = await check(shop, { target: TARGET, headers: "Authorization: Bearer rbk_x", body: BODY });
	equal(
		checked.conclusion,
		"These headers are missing: X-Service-Timestamp, X-Service-Nonce, X-Service-Signature.",
	);
	deepEqual([checked.isGood, checked.canonical], [false, null]);
});

test("a programme without a secret is told to issue a key", async () => {
	const programme = await shop.site.addProgramme();
	const checked = await checkSignature(shop.site.deps, programme, signedAs({ secret: "rbs_other" }));
	match(checked.advice, /no signing secret yet/);
});

describe("a callback that is compared with what we sent", () => {
	const damages: readonly (readonly [
		what: string,
		part: string,
		change: () => Partial<PastedRequest>,
		pasted: string,
	])[] = [
		["a redirect makes it a GET", "method", () => ({ method: "GET" }), "GET"],
		["a proxy drops the query", "path and query", () => ({ target: PATH }), ""],
		[
			"a gateway adds to the path",
			"path and query",
			() => ({ target: `/prod${PATH}${QUERY}` }),
			`prod${PATH}${QUERY}`,
		],
		[
			"a framework decodes the path",
			"path and query",
			() => ({ target: decodeURI(PATH) + QUERY }),
			`ückruf${QUERY}`,
		],
		["the timestamp is missing", "timestamp", () => withoutHeader("Timestamp"), ""],
		["the nonce is missing", "nonce", () => withoutHeader("Nonce"), ""],
		["the body is written again", "body", () => ({ body: sent.body.replace(":", ": ") }), "…"],
		["a line break is added", "body", () => ({ body: `${sent.body}\n` }), "[U+000A]"],
		[
			"an invisible character is added",
			"body",
			() => ({ body: `${sent.body.slice(0, -1)}\u200b}` }),
			"[U+200B]}",
		],
		["the body is lost", "body", () => ({ body: "" }), ""],
	];
	const withoutHeader = (name: string) => {
		const { headers } = pasteSent(sent);
		return { headers: headers.replace(new RegExp(`^X-Service-${name}: .*\n`, "m"), "") };
	};

	for (const [what, part, change, pasted] of damages) {
		test(`${what}: the first difference is in the ${part}`, async () => {
			const checked = await check(shop, change(), sent);
			equal(checked.isGood, false);
			match(checked.conclusion, new RegExp(`first difference is in the ${part}\\.$`));
			deepEqual(
				[checked.difference?.sides[0]?.[0], checked.difference?.sides[1]?.[0]],
				["We sent", "You pasted"],
			);
			if (!pasted.endsWith("…")) equal(checked.difference?.sides[1]?.[1], pasted);
		});
	}

	test("an undamaged callback is right, however its headers are pasted and however old it is", async () => {
		const server = (name: string) => `HTTP_${name.toUpperCase().replaceAll("-", "_")}`;
		const ways = [
			JSON.stringify(Object.fromEntries(sent.headers.map(([name, value]) => [name.toLowerCase(), value]))),
			JSON.stringify(Object.fromEntries(sent.headers.map(([name, value]) => [name, [value]])), null, 2),
			sent.headers.map(([name, value]) => `[${server(name)}] => ${value}`).join("\n"),
			sent.headers.map(([name, value]) => `"${server(name)}"=>"${value}"`).join(", "),
			sent.headers.map(([name, value]) => `  -H '${name}: ${value}' \\`).join("\n"),
			sent.headers.map(([name, value]) => `> ${name}: ${value}`).join("\r\n"),
			sent.headers.map(([name, value]) => `'${name}': '${value}',`).join("\n"),
		];
		for (const headers of ways) ok((await check(shop, { headers }, sent)).isGood, headers);
		ok((await check(shop, { target: `https://SHOP.example${PATH}${QUERY}` }, sent)).isGood);
		ok((await check(shop, { target: `POST ${PATH}${QUERY} HTTP/1.1` }, sent)).isGood);
		ok((await check(shop, pasteSent(sent))).isGood, "without our record of it");
		shop.site.moveClock(DAY_MS);
		ok((await check(shop, {}, sent)).isGood);
	});

	test("if the shop's own signature is pasted in place of ours, the check explains what the shop signed", async () => {
		const { headers, target, body, method } = pasteSent(sent);
		const header = (name: string) => sent.headers.find(([each]) => each === `X-Service-${name}`)?.[1] ?? "";
		const received = {
			method,
			target,
			timestamp: header("Timestamp"),
			nonce: header("Nonce"),
			body,
			secret: shop.secret,
		};
		const computed = async (change: Partial<Signed>) => {
			const signed = { ...received, ...change };
			const replaced = headers.replace(header("Signature"), hmac(signed.secret, textOf(signed)));
			return (await check(shop, { headers: replaced }, sent)).conclusion;
		};
		match(await computed({}), /^The signature is right/);
		match(await computed({ target: PATH }), /^Another path was signed/);
		match(
			await computed({ body: JSON.stringify(JSON.parse(body), null, 2) }),
			/^The body was serialised again/,
		);
		match(await computed({ body: "" }), /^The body had other bytes/);
		match(await computed({ secret: `${shop.secret}\n` }), /^The secret was changed/);
		match(await computed({ secret: "rbs_other" }), /^None of the ten/);
	});

	test("without our record the usual mistakes are tried, with the programme's Postback URLs as paths", async () => {
		const pasted = pasteSent(sent);
		const conclusion = async (change: Partial<PastedRequest>) =>
			(await check(shop, { ...pasted, ...change })).conclusion;
		match(await conclusion({ target: PATH }), /^Another path was signed/);
		match(await conclusion({ target: `/prod${PATH}${QUERY}` }), /^Another path was signed/);
		match(await conclusion({ body: `${sent.body}\n` }), /^The body had other bytes/);
		match(
			await conclusion({ body: JSON.stringify(JSON.parse(sent.body), null, 4) }),
			/^The body was serialised again/,
		);
	});
});

test("a request with an ended secret is explained, and an old callback that was signed with it is right", async () => {
	const { deps } = shop.site;
	const first = shop.secret;
	const early = await callBack(shop, "early");
	const prepared = await prepareSecret(deps, shop.programme.public_id, COMMAND_LINE);
	ok(prepared.ok);
	match(
		(await check(shop, signedAs({ secret: prepared.value.secret }))).conclusion,
		/made with the prepared secret/,
	);
	await activateSecret(deps, shop.programme.public_id, prepared.value.secretId, COMMAND_LINE);
	match((await check(shop, signedAs({ secret: first }))).conclusion, /made with the replaced secret/);
	await endReplacedSecrets(deps, shop.programme.public_id, COMMAND_LINE);
	shop.site.moveClock(1_000);
	const old = await check(shop, signedAs({ secret: first }));
	match(old.conclusion, /^Another secret was used\. It was the secret …\w+, which has ended\.$/);
	doesNotMatch(JSON.stringify(old), new RegExp(first.slice(4)));
	match(
		(await check(shop, {}, early)).conclusion,
		/^The signature is right\. It was made with the ended secret/,
	);
	shop.secret = prepared.value.secret;
});

test("only the newest secrets are tried", async () => {
	const { store, deps } = shop.site;
	const { sealed } = await store.db.selectFrom("signing_secrets").selectAll().executeTakeFirstOrThrow();
	const nowMs = deps.clock.nowMs();
	const row = {
		receiver_id: shop.programme.receiver_id,
		sealed,
		hint: "x",
		created_at_ms: 0,
		activated_at_ms: 0,
	};
	for (let index = 0; index < 12; index++) {
		const times = { replaced_at_ms: nowMs, ended_at_ms: index % 2 === 0 ? nowMs : null };
		await insertSecret(store.db, { ...row, ...times, public_id: `sec_${index}` });
	}
	const checked = await check(shop, signedAs({}));
	equal(checked.conclusion, "None of the ten usual mistakes explains this signature.");
	await store.db.deleteFrom("signing_secrets").where("hint", "=", "x").execute();
	ok((await check(shop, signedAs({}))).isGood);
});

test("the work is bounded for every text that fits into the form", async () => {
	const { headers } = signedAs({ secret: "rbs_other" });
	const pastes = [
		{ body: "[".repeat(32_000) + "]".repeat(32_000), headers, target: TARGET },
		{ body: "x".repeat(65_536), headers, target: "/".repeat(4_096) },
		{ body: `"${"\\u00e4".repeat(10_000)}"`, headers, target: `/?${"a&".repeat(2_000)}` },
		{ body: `${"\n".repeat(65_535)}x`, headers: `X-Service-Nonce:${" ".repeat(60_000)}x`, target: TARGET },
		{ body: "{}", headers: "X-Service-Nonce ".repeat(4_000), target: "/%".repeat(2_000) },
	];
	for (const pasted of pastes) {
		const startedAt = performance.now();
		equal((await check(shop, pasted)).isGood, false);
		ok(performance.now() - startedAt < 5_000);
	}
});

test("a difference is counted in bytes, shows no half character, and is shortened", () => {
	const parts = { method: "", target: "", timestamp: "", nonce: "", body: "" };
	const difference = (one: string, other: string) =>
		firstDifference(["a", { ...parts, body: one }], ["b", { ...parts, body: other }]);
	deepEqual(difference("äö-0123456789abcdefX", "äö-0123456789abcdefY"), {
		part: "body",
		offset: 21,
		before: "…0123456789abcdef",
		sides: [
			["a", "X"],
			["b", "Y"],
		],
	});
	deepEqual(difference("x😀y", "x😁y")?.sides, [
		["a", "😀y"],
		["b", "😁y"],
	]);
	deepEqual(difference("", "é".repeat(100))?.sides, [
		["a", ""],
		["b", `${"é".repeat(60)}…`],
	]);
	equal(difference("same", "same"), null);
});
