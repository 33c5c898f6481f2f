// Each cause with a real signed request, in both directions. Callbacks are composed and signed by the engine's own code and
// looked up in a real database; requests to us are signed from the contract's section 5 alone.

import { deepEqual, doesNotMatch, equal, match, notEqual, ok } from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { createSqliteDatabase } from "../../test/support/sqlite-database.ts";
import { signingKey } from "../domain/signature.ts";
import { DAY_MS, HOUR_MS } from "../domain/time.ts";
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
	type Seen,
	type Signed,
	wrongIn,
} from "./called-shop.test-support.ts";
import { explain, MAX_TRIES } from "./causes.ts";
import { checkSignature } from "./check-signature.ts";
import { readSecrets } from "./secrets.ts";

const { pathname: PATH, search: QUERY } = new URL(CALLBACK_URL);
const [TIMESTAMP, NONCE, SIGNATURE] = ["X-Service-Timestamp", "X-Service-Nonce", "X-Service-Signature"];

const NO_SIGNATURE = "0".repeat(64);

/** json.dumps(json.loads(body)), which writes letters beyond ASCII as codes. */
function asPython(json: string): string {
	const spaced = Object.entries(JSON.parse(json)).map(
		([name, value]) => `"${name}": ${JSON.stringify(value)}`,
	);
	const text = `{${spaced.join(", ")}}`;
	return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `shown`: what we sent and what was pasted, where they differ. */
type Damage = readonly [
	what: string,
	found: string,
	change: (sent: Seen, other: Seen) => Partial<Seen>,
	shown?: readonly [sent: string, seen: string],
];

const header =
	(name: string, write: (value: string, other: Seen) => string) =>
	({ headers }: Seen, other: Seen): Partial<Seen> => ({
		headers: { ...headers, [name]: write(headers[name] ?? "", other) },
	});

const target = (write: string) => (): Partial<Seen> => ({ target: write });
const body =
	(write: (text: string, other: Seen) => string) =>
	(sent: Seen, other: Seen): Partial<Seen> => ({ body: write(sent.body, other) });
const sortFields = (json: string) =>
	JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(json)).toSorted()));
const inBase64 = (hex: string) => Buffer.from(hex, "hex").toString("base64");

const DAMAGES: readonly Damage[] = [
	["a redirect makes it a GET", "method: method", () => ({ method: "GET" }), ["POS", "GE"]],
	["a proxy drops the query", "path: query", target(PATH), [QUERY, ""]],
	["a proxy adds to the query", "path: target", target(`${PATH}${QUERY}&x=1`), ["", "&x=1"]],
	["an app's mount point is stripped", "path: path-prefix", target(`${PATH.slice("/hooks".length)}${QUERY}`)],
	["a gateway adds a beginning", "path: path-prefix", target(`/prod${PATH}${QUERY}`)],
	["a framework decodes the path", "path: target", target(decodeURI(PATH) + QUERY), ["%C3%BC", "ü"]],
	["milliseconds", "timestamp: milliseconds", header(TIMESTAMP, (text) => `${text}000`), ["", "000"]],
	["no timestamp", "timestamp: missing", header(TIMESTAMP, () => "")],
	["another request's nonce", "nonce: header", header(NONCE, (_, other) => other.headers[NONCE] ?? "")],
	["no nonce", "nonce: missing", header(NONCE, () => "")],
	["Python writes the body again", "body: reserialised", body(asPython)],
	["its fields are sorted", "body: reserialised", body(sortFields)],
	["a line break at its end", "body: line-break", body((text) => `${text}\n`), ["", "[U+000A]"]],
	["an unseen character", "body: body", body((text) => text.replace("-", "\u200b-")), ["", "[U+200B]"]],
	["UTF-8 read as Latin-1", "body: body", body((text) => Buffer.from(text).toString("latin1"))],
	["another callback's body", "body: body", body((_, other) => other.body)],
	["something read the body before", "body: missing", body(() => "")],
	["base64 for hex", "signature: base64", header(SIGNATURE, inBase64)],
	["no signature", "signature: missing", header(SIGNATURE, () => "")],
	["a signature that was cut", "signature: header", header(SIGNATURE, (text) => text.slice(0, 40))],
];

eachDatabase("a callback of ours", (database) => {
	let shop: CalledShop;
	let sent: Seen;
	let other: Seen;
	/** A shop of which no attempt is kept any more. */
	let forgetful: CalledShop;
	let forgotten: Seen;

	before(async () => {
		shop = await openCalledShop(database.store);
		sent = await callBack(shop, "Ä-1001");
		other = await callBack(shop, "2");
		forgetful = await openCalledShop(database.store);
		forgotten = await callBack(forgetful, "Ä-1001");
		const ofIt = database.store.db.deleteFrom("attempts");
		await ofIt.where("programme_id", "=", forgetful.programme.id).execute();
	});

	for (const [what, found, change, shown] of DAMAGES) {
		test(`${what}: ${found}, to the byte, and nothing else`, async () => {
			const checked = await check(shop, { ...sent, ...change(sent, other) });
			deepEqual([wrongIn(checked.findings), checked.isGood], [[found], false]);
			equal(checked.sent?.attempt.seq, 1);
			const difference = checked.findings.find(({ verdict }) => verdict === "bad")?.difference;
			notEqual(difference, undefined);
			if (shown !== undefined) deepEqual([difference?.signed, difference?.seen], shown);
		});
	}

	test("all parts that differ are named, and where each begins", async () => {
		const body = sent.body.replace('"129.90"', "129.9");
		const checked = await check(shop, { ...sent, method: "GET", target: PATH, body });
		deepEqual(wrongIn(checked.findings), ["method: method", "path: query", "body: body"]);
		match(
			checked.conclusion,
			/^This request would be refused\. What differs: method, path and query, body\.$/,
		);
		const ofBody = checked.findings.find(({ part }) => part === "body")?.difference;
		equal(ofBody?.offset, Buffer.byteLength(sent.body.slice(0, sent.body.indexOf('"129.90"'))));
	});

	test("what arrived undamaged is good, however it is pasted and however old it is", async () => {
		const { body, target } = sent;
		const entries = Object.entries(sent.headers);
		const server = (name: string) => `HTTP_${name.toUpperCase().replaceAll("-", "_")}`;
		const ways = [
			JSON.stringify(Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), value]))),
			JSON.stringify(Object.fromEntries(entries.map(([name, value]) => [name, [value]])), null, 2),
			entries.map(([name, value]) => `[${server(name)}] => ${value}`).join("\n"),
			entries.map(([name, value]) => `"${server(name)}"=>"${value}"`).join(", "),
			entries.map(([name, value]) => `  -H '${name}: ${value}' \\`).join("\n"),
			entries.map(([name, value]) => `> ${name}: ${value}`).join("\r\n"),
			entries.map(([name, value]) => `'${name}': '${value}',`).join("\n"),
		];
		for (const headers of ways) {
			const pasted = { method: "POST", target, headers, body };
			const question = { pasted, secret: "", computed: "" };
			const checked = await checkSignature(shop.site.deps, shop.programme, question);
			deepEqual(
				[wrongIn(checked.findings), checked.isGood, checked.sent?.attempt.seq],
				[[], true, 1],
				headers,
			);
		}
		deepEqual(
			wrongIn((await check(shop, { ...sent, target: `https://SHOP.example${target}` })).findings),
			[],
		);
		deepEqual(wrongIn((await check(shop, { ...sent, target: `POST ${target} HTTP/1.1` })).findings), []);
		const upper = header(SIGNATURE, (text) => text.toUpperCase())(sent, other);
		ok((await check(shop, { ...sent, ...upper })).isGood);
		shop.site.moveClock(HOUR_MS);
		const old = await check(shop, sent);
		match(old.conclusion, /^The signature is right: this is exactly what we sent\. .*its clock/);
	});

	test("without nonce and signature it is no callback of ours, and what is missing is named", async () => {
		const checked = await check(shop, { ...sent, headers: { "X-Service-Event": "conversion.recorded" } });
		deepEqual([checked.sent, checked.isGood], [null, false]);
		match(checked.conclusion, /Missing: X-Service-Timestamp, X-Service-Nonce, X-Service-Signature\.$/);
	});

	test("when no attempt is kept, one mistake is still found, and more than one is not explained away", async () => {
		const found = async (change: Partial<Seen>) => {
			const checked = await check(forgetful, { ...forgotten, ...change });
			equal(checked.sent, null);
			return wrongIn(checked.findings);
		};
		deepEqual(await found({}), []);
		deepEqual(await found({ target: PATH }), ["path: query"]);
		deepEqual(await found({ target: `/prod${PATH}${QUERY}` }), ["path: path-prefix"]);
		deepEqual(await found({ body: `${forgotten.body}\n` }), ["body: line-break"]);
		deepEqual(await found({ body: asPython(forgotten.body) }), ["body: reserialised"]);
		deepEqual(await found({ target: PATH, body: asPython(forgotten.body) }), ["secret: unknown"]);
	});

	test("another shop's attempts are as unknown as none", async () => {
		const checked = await check(forgetful, sent);
		deepEqual([checked.sent, wrongIn(checked.findings)], [null, ["secret: unknown"]]);
		match(checked.conclusion, /^We do not know what is wrong: none of the \d+ usual mistakes/);
		match(
			checked.findings.find(({ part }) => part === "nonce")?.text ?? "",
			/last 2,000 callbacks, has this nonce/,
		);
	});
});

const TARGET = "/v1/conversions?dry=1&note=a%20b";
const BODY = '{"orderId":"Ä/1","basketValue":"10.00","list":[1,{"b":2}]}';

describe("the shop's side", () => {
	let shop: CalledShop;
	const database = createSqliteDatabase();

	before(async () => {
		const store = database.open();
		await store.migrate(0);
		shop = await openCalledShop(store);
	});
	after(() => database.remove());

	const now = () => String(Math.floor(shop.site.deps.clock.nowMs() / 1000));
	const signed = (change: Partial<Signed>): Signed => ({
		method: "POST",
		target: TARGET,
		timestamp: now(),
		nonce: "00112233445566778899aabbccddeeff",
		body: BODY,
		secret: shop.secret,
		end: "",
		...change,
	});

	/** What is sent is right but for `sent`; what was signed is as `change` says. */
	function request(change: Partial<Signed> = {}, sent: Record<string, string> = {}): Seen {
		const { nonce } = signed({});
		const headers = { Authorization: `Bearer ${shop.key}`, [TIMESTAMP]: now(), [NONCE]: nonce };
		return {
			method: "POST",
			target: TARGET,
			headers: { ...headers, [SIGNATURE]: hmac(signed(change)), ...sent },
			body: BODY,
		};
	}

	const requestAt = (timestamp: string) => request({ timestamp }, { [TIMESTAMP]: timestamp });
	const bare = () => shop.secret.slice("rbs_".length);
	const atMs = (milliseconds: string) => `${now()}${milliseconds}`;
	const ahead = () => String(Number(now()) + 301);
	const indented = JSON.stringify(JSON.parse(BODY), null, 2);
	const inPython = '{"orderId": "\\u00c4/1", "basketValue": "10.00", "list": [1, {"b": 2}]}';
	const inPhp = BODY.replace("Ä/", "\\u00c4\\/");
	const [ORIGIN, API_PATH] = ["https://ringback.example", "/v1/conversions"];
	const MISTAKES: readonly (readonly [what: string, found: string, seen: () => Seen, text: RegExp])[] = [
		["indented JSON", "body: reserialised", () => request({ body: indented }), /serialised again/],
		["Python's JSON", "body: reserialised", () => request({ body: inPython }), /in other bytes/],
		["PHP's JSON", "body: reserialised", () => request({ body: inPhp }), /sign it and send it/],
		["sorted fields", "body: reserialised", () => request({ body: sortFields(BODY) }), /in other bytes/],
		["a line break behind the body", "body: line-break", () => request({ body: `${BODY}\n` }), /is sent/],
		["a line break behind the text", "signed: line-break", () => request({ end: "\n" }), /last part/],
		["an empty body", "body: unsigned", () => request({ body: "" }), /before hashing/],
		["the whole URL", "path: path-prefix", () => request({ target: ORIGIN + TARGET }), /behind the host/],
		["half a path", "path: path-prefix", () => request({ target: TARGET.slice(3) }), /another beginning/],
		[
			"a beginning too many",
			"path: path-prefix",
			() => request({ target: `/api${TARGET}` }),
			/as it is sent/,
		],
		["a slash too many", "path: target", () => request({ target: TARGET.replace("?", "/?") }), /is sent/],
		["no query", "path: query", () => request({ target: API_PATH }), /Sign it, too/],
		["the wrong method", "method: method", () => request({ method: "GET" }), /another method/],
		["ms signed", "timestamp: milliseconds", () => request({ timestamp: atMs("000") }), /in seconds/],
		["ms sent", "timestamp: milliseconds", () => request({}, { [TIMESTAMP]: atMs("000") }), /in seconds/],
		["ms in both", "timestamp: milliseconds", () => requestAt(atMs("123")), /in seconds/],
		["a clock ahead", "timestamp: stale-clock", () => requestAt(ahead()), /301 seconds ahead/],
		["a date", "timestamp: malformed", () => requestAt("2026-03-01T12:00:00Z"), /digits only/],
		[
			"base64 for hex",
			"signature: base64",
			() => request({}, { [SIGNATURE]: inBase64(hmac(signed({}))) }),
			/hex/,
		],
		["no HMAC at all", "signature: malformed", () => request({}, { [SIGNATURE]: "signature" }), /64 hex/],
		["the API key", "secret: api-key-as-secret", () => request({ secret: shop.key }), /begins with rbs_/],
		["a line break", "secret: misspelt-secret", () => request({ secret: `${shop.secret}\n` }), /trim it/],
		[
			"quotation marks",
			"secret: misspelt-secret",
			() => request({ secret: `"${shop.secret}"` }),
			/remove them/,
		],
		["half a secret", "secret: misspelt-secret", () => request({ secret: bare() }), /without its beginning/],
		[
			"a decoded one",
			"secret: misspelt-secret",
			() => request({ secret: Buffer.from(bare(), "hex") }),
			/hex/,
		],
		["no secret", "secret: unset-secret", () => request({ secret: "" }), /^"" was used.*not set/],
		["an unset variable", "secret: unset-secret", () => request({ secret: "undefined" }), /"undefined"/],
		["another secret", "secret: unknown", () => request({ secret: "rbs_x" }), /last characters.*inbound log/],
		["two mistakes", "secret: unknown", () => request({ target: API_PATH, body: indented }), /^None of your/],
	];

	for (const [what, found, seen, text] of MISTAKES) {
		test(`a request to us: ${what}: ${found}, and nothing else`, async () => {
			const checked = await check(shop, seen());
			deepEqual([checked.direction, wrongIn(checked.findings), checked.isGood], ["request", [found], false]);
			match(checked.findings.find(({ cause }) => cause !== null)?.text ?? "", text);
			doesNotMatch(JSON.stringify(checked), new RegExp(bare()));
		});
	}

	test("what we expected to be signed is shown where nothing is known", async () => {
		const seen = request({ secret: "rbs_other" });
		const { canonical, conclusion } = await check(shop, seen);
		const right = signed({});
		equal(hmac(right), hmac({ ...right, ...parseCanonical(canonical ?? "") }));
		match(
			conclusion,
			/^We do not know what is wrong.*Compare the text below with the one your code signs\.$/,
		);
		const missing = await check(shop, { ...seen, headers: { Authorization: "Bearer rbk_x" } });
		match(missing.conclusion, /Missing: X-Service-Timestamp, X-Service-Nonce, X-Service-Signature\.$/);
	});

	test("a request that is right is good; an old timestamp is only pointed out", async () => {
		const good = await check(shop, request());
		deepEqual([wrongIn(good.findings), good.isGood], [[], true]);
		match(good.conclusion, /we accept this request, unless its nonce was used before/);
		const old = await check(shop, requestAt(String(Number(now()) - 3_600)));
		deepEqual([wrongIn(old.findings), old.isGood], [[], true]);
		match(old.findings.find(({ cause }) => cause === "stale-clock")?.text ?? "", /3600 seconds behind/);
	});

	test("what the shop's code computed for a callback is explained, also where it was pasted in place of ours", async () => {
		const sent = await callBack(shop, "computed");
		const { [TIMESTAMP]: timestamp = "", [NONCE]: nonce = "" } = sent.headers;
		const right = signed({ target: sent.target, timestamp, nonce, body: sent.body });
		const computed = async (change: Partial<Signed>) => {
			const value = hmac({ ...right, ...change });
			const beside = await check(shop, sent, { computed: value });
			const { headers } = sent;
			const inHeader = await check(shop, { ...sent, headers: { ...headers, [SIGNATURE]: value } });
			if (value !== headers[SIGNATURE]) {
				deepEqual(wrongIn(inHeader.findings), ["signature: header"]);
				deepEqual(inHeader.computed, beside.computed);
			}
			return wrongIn(beside.computed ?? []);
		};
		deepEqual(await computed({}), []);
		deepEqual(await computed({ target: PATH }), ["path: query"]);
		deepEqual(await computed({ body: JSON.stringify(JSON.parse(sent.body), null, 2) }), [
			"body: reserialised",
		]);
		deepEqual(await computed({ body: "" }), ["body: unsigned"]);
		deepEqual(await computed({ secret: `${shop.secret}\n` }), ["secret: misspelt-secret"]);
		deepEqual(await computed({ secret: "rbs_other" }), ["secret: unknown"]);
	});

	test("a pasted secret that is not the one is told from it, and nothing of either is repeated", async () => {
		const sent = await callBack(shop, "pasted");
		const told = async (secret: string) => {
			const checked = await check(shop, sent, { secret });
			doesNotMatch(JSON.stringify(checked), new RegExp(`${shop.secret.slice(4)}|${shop.key}`));
			const { verdict, text = "" } = checked.findings.find(({ part }) => part === "secret") ?? {};
			return `${verdict}: ${text}`;
		};
		match(await told(`  ${shop.secret}\n`), /^good: Signed with the active secret/);
		match(await told(shop.key), /^bad: .*What you pasted is an API key/);
		// A part of it is not recognised: it could be guessed bit by bit.
		for (const secret of ["rbs_typo", shop.secret.slice(0, 20), shop.secret.slice(0, -1)]) {
			match(await told(secret), /^bad: .*not with what you pasted\. Compare the last characters/);
		}
	});

	test("the work is bounded: nothing that fits into the form takes more than its tries", async () => {
		const seen = { ...signed({ method: "put" }), target: "/a/b/c?d/e", body: '{"b/ä<": [1],"a":1}\n' };
		const fit = { key: signingKey("x"), isRight: true, verdict: "good", cause: null, text: "" } as const;
		const keys = Array.from({ length: 45 }, (_, index) => ({ ...fit, isRight: index < 4 }));
		const targets = Array.from({ length: 6 }, (_, index) => `/${index}`);
		const tries = async (tried: typeof keys) =>
			(await explain({ ...seen, signature: NO_SIGNATURE }, tried, targets, async () => undefined)).tries;
		const most = [await tries(keys), await tries([...keys, ...keys, ...keys])];
		deepEqual(most, [181, MAX_TRIES], "as its comment counts");
		const trio = Object.entries(request().headers).map(([name, value]) => `${name}: ${value}`);
		const headers = trio.join("\n");
		const pastes = [
			{ body: "[".repeat(60_000) + "]".repeat(60_000), headers, target: TARGET },
			{ body: "x".repeat(131_072), headers, target: "/".repeat(4_096) },
			{ body: `"${"\\u00e4".repeat(20_000)}"`, headers, target: `/?${"a&".repeat(2_000)}` },
			{ body: `${"\n".repeat(131_071)}x`, headers: `X-Service-Nonce:${" ".repeat(9_000)}x`, target: TARGET },
			{ body: "{}", headers: "X-Service-Nonce ".repeat(1_000), target: "/%".repeat(2_000) },
		];
		for (const paste of pastes) {
			const startedAt = performance.now();
			const question = { pasted: { method: "POST", ...paste }, secret: "x".repeat(1_024) };
			const asked = { ...question, computed: NO_SIGNATURE };
			equal((await checkSignature(shop.site.deps, shop.programme, asked)).isGood, false);
			ok(performance.now() - startedAt < 5_000, "far from hanging");
		}
	});

	test("of many secrets only the newest are tried", async () => {
		const { store, deps } = shop.site;
		const { sealed } = await store.db.selectFrom("signing_secrets").selectAll().executeTakeFirstOrThrow();
		const nowMs = deps.clock.nowMs();
		const row = { receiver_id: shop.programme.id, sealed, hint: "x", created_at_ms: 0, activated_at_ms: 0 };
		for (let index = 0; index < 12; index++) {
			const times = { replaced_at_ms: nowMs, ended_at_ms: index % 2 === 0 ? nowMs : null };
			await insertSecret(store.db, { ...row, ...times, public_id: `sec_${index}` });
		}
		equal((await readSecrets(store.db, deps.sealingKey, shop.programme.id, nowMs)).length, 8);
		await store.db.deleteFrom("signing_secrets").where("hint", "=", "x").execute();
	});

	test("each secret that was good at the time explains a callback or a request of that time", async () => {
		const { deps } = shop.site;
		const secretOf = async (seen: Seen) => {
			const { findings } = await check(shop, seen);
			const { verdict, text = "" } = findings.find(({ part }) => part === "secret") ?? {};
			return `${verdict}: ${text}`;
		};
		const early = await callBack(shop, "early");
		const [toUs, first] = [request(), shop.secret];
		shop.site.moveClock(60_000);
		const prepared = await prepareSecret(deps, shop.programme.public_id, COMMAND_LINE);
		ok(prepared.ok);
		match(
			await secretOf(request({ secret: prepared.value.secret })),
			/^warn: .* prepared secret .* We accept it/,
		);
		await activateSecret(deps, shop.programme.public_id, prepared.value.secretId, COMMAND_LINE);
		match(await secretOf(await callBack(shop, "late")), /^good: Signed with the active secret/);
		match(await secretOf(early), /^warn: .* replaced secret .* It was active then/);
		match(await secretOf(request({ secret: first })), /^warn: .* We accept it until 2026-03-02/);
		await endReplacedSecrets(deps, shop.programme.public_id, COMMAND_LINE);
		shop.site.moveClock(1_000);
		deepEqual(wrongIn((await check(shop, request({ secret: first }))).findings), ["secret: old-secret"]);
		match(await secretOf(toUs), /^warn: .* It ended on/, "signed before it ended: it was good then");
		shop.site.moveClock(2 * DAY_MS);
		deepEqual(wrongIn((await check(shop, early)).findings), []);
		doesNotMatch(JSON.stringify(await check(shop, early)), new RegExp(first.slice(4)));
	});
});

/** The first four lines; the digest is of the body that was pasted. */
function parseCanonical(text: string): Partial<Signed> {
	const [method = "", target = "", timestamp = "", nonce = ""] = text.split("\n");
	return { method, target, timestamp, nonce };
}
