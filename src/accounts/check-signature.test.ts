// Callbacks that were damaged on their way to the shop's code: through the real use case, over requests that the engine's
// own code composed and signed. Each damage is named by its part and its cause, and no other is.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { before, test } from "node:test";
import { eachDatabase } from "../../test/support/databases.ts";
import { HOUR_MS } from "../domain/time.ts";
import {
	CALLBACK_URL,
	type CalledShop,
	callBack,
	check,
	EARLIER_URL,
	openCalledShop,
	type Seen,
	wrongIn,
} from "./check-signature.test-support.ts";
import { checkSignature } from "./check-signature.ts";

/** Letters beyond ASCII, markup, a slash, and digits that look like a number. */
const ORDER = "Ä-1001/<é&>";
const PATH = new URL(CALLBACK_URL).pathname;
const QUERY = new URL(CALLBACK_URL).search;
const [TIMESTAMP, NONCE, SIGNATURE, EVENT] = [
	"X-Service-Timestamp",
	"X-Service-Nonce",
	"X-Service-Signature",
	"X-Service-Event",
];

interface Damage {
	what: string;
	/** Part and cause. */
	found: string;
	do(sent: Seen, other: Seen): Partial<Seen>;
	/** Named just as well when no attempt is kept: the signature alone says it. */
	blind?: true;
}

const target = (what: string, found: string, write: string, blind?: true): Damage => ({
	what,
	found,
	do: () => ({ target: write }),
	...(blind === undefined ? {} : { blind }),
});
const header = (
	what: string,
	found: string,
	name: string,
	write: (value: string, other: Seen) => string,
	blind?: true,
): Damage => ({
	what,
	found,
	do: ({ headers }, other) => ({ headers: { ...headers, [name]: write(headers[name] ?? "", other) } }),
	...(blind === undefined ? {} : { blind }),
});
const body = (
	what: string,
	cause: string,
	write: (text: string, json: Record<string, unknown>, other: Seen) => string,
	blind?: true,
): Damage => ({
	what,
	found: `body ${cause}`,
	do: (sent, other) => ({ body: write(sent.body, JSON.parse(sent.body), other) }),
	...(blind === undefined ? {} : { blind }),
});

const TARGETS: readonly Damage[] = [
	target("the query was dropped by a proxy", "query query-dropped", PATH, true),
	target("a parameter was removed", "query parameter-removed", `${PATH}?shop=garden`, true),
	target("a parameter was added", "query parameter-added", `${PATH}${QUERY}&utm_source=x`, true),
	target("parameters in another order", "query query-reordered", `${PATH}?note=a%20b&shop=garden`, true),
	target("a space as plus", "query query-space", `${PATH}${QUERY.replace("%20", "+")}`, true),
	target("the query decoded", "query query-encoding", `${PATH}${QUERY.replace("%20", " ")}`, true),
	target("the query through HTML", "query query-html-escaped", `${PATH}${QUERY.replace("&", "&amp;")}`, true),
	target("another query", "query another-query", `${PATH}?shop=tools&note=a%20b`, true),
	target("the app's prefix stripped", "path prefix-stripped", `${PATH.slice("/hooks".length)}${QUERY}`, true),
	target("a gateway's prefix added", "path prefix-added", `/prod${PATH}${QUERY}`, true),
	target("a slash added at the end", "path slash-added", `${PATH}/${QUERY}`, true),
	target("no slash at the beginning", "path no-first-slash", `${PATH.slice(1)}${QUERY}`, true),
	target("slashes doubled", "path slashes-merged", `/${PATH}${QUERY}`, true),
	target("the path decoded", "path path-encoding", `${decodeURI(PATH)}${QUERY}`, true),
	target("the path's codes in lower case", "path path-encoding", `${PATH.toLowerCase()}${QUERY}`, true),
	target("the path in upper case", "path path-case", `${PATH.toUpperCase()}${QUERY}`, true),
	target("rewritten to a script", "path path-rewritten", `/index.php${QUERY}`, true),
	target("another path altogether", "path another-path", `/elsewhere${QUERY}`, true),
];

const HEADERS: readonly Damage[] = [
	header(
		"the timestamp in milliseconds",
		"timestamp timestamp-in-milliseconds",
		TIMESTAMP,
		(text) => `${text}000`,
		true,
	),
	header(
		"the timestamp as a date",
		"timestamp timestamp-as-date",
		TIMESTAMP,
		(text) => new Date(Number(text) * 1000).toISOString(),
		true,
	),
	header(
		"the timestamp as a decimal",
		"timestamp timestamp-as-decimal",
		TIMESTAMP,
		(text) => `${text}.0`,
		true,
	),
	header("the timestamp in quotes", "timestamp header-quoted", TIMESTAMP, (text) => `"${text}"`, true),
	header(
		"a timestamp a minute off",
		"timestamp another-timestamp",
		TIMESTAMP,
		(text) => String(Number(text) - 60),
		true,
	),
	header("no timestamp", "timestamp header-missing", TIMESTAMP, () => ""),
	header("the nonce in upper case", "nonce header-case", NONCE, (text) => text.toUpperCase(), true),
	header("the nonce in quotes", "nonce header-quoted", NONCE, (text) => `"${text}"`, true),
	header("the nonce cut", "nonce header-cut", NONCE, (text) => text.slice(0, 20)),
	header("the nonce twice", "nonce header-twice", NONCE, (text) => `${text}, ${text}`, true),
	header(
		"the nonce of another request",
		"nonce another-nonce",
		NONCE,
		(_, other) => other.headers[NONCE] ?? "",
	),
	header("no nonce", "nonce header-missing", NONCE, () => ""),
	header("the signature in quotes", "signature header-quoted", SIGNATURE, (text) => `"${text}"`, true),
	header(
		"the signature with sha256=",
		"signature signature-prefixed",
		SIGNATURE,
		(text) => `sha256=${text}`,
		true,
	),
	header(
		"the signature in base64",
		"signature signature-in-base64",
		SIGNATURE,
		(text) => Buffer.from(text, "hex").toString("base64"),
		true,
	),
	header("the signature cut", "signature header-cut", SIGNATURE, (text) => text.slice(0, 40), true),
	header(
		"the signature with an invisible character",
		"signature header-invisible",
		SIGNATURE,
		(text) => `${text}\u200b`,
		true,
	),
	header("the signature twice", "signature header-twice", SIGNATURE, (text) => `${text}, ${text}`, true),
	header("no signature", "signature header-missing", SIGNATURE, () => ""),
	header("another event in the header", "event another-event-header", EVENT, () => "conversion.reversed"),
	{
		what: "a redirect made it a GET",
		found: "method another-method",
		do: () => ({ method: "GET" }),
		blind: true,
	},
];

const BODIES: readonly Damage[] = [
	body("indented by two", "json-spaces", (_, json) => JSON.stringify(json, null, 2), true),
	body("indented by four", "json-spaces", (_, json) => JSON.stringify(json, null, 4), true),
	body("as Python writes it", "json-spaces", (text) => asPython(text), true),
	body("as PHP writes it", "json-escapes", (text) => escaped(text).replaceAll("/", "\\/"), true),
	body("with \\u codes", "json-escapes", (text) => escaped(text), true),
	body(
		"as Go writes it",
		"json-escapes",
		(text) => text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
		true,
	),
	body(
		"fields sorted",
		"json-key-order",
		(_, json) => JSON.stringify(Object.fromEntries(Object.entries(json).toSorted())),
		true,
	),
	body(
		"fields the other way round",
		"json-key-order",
		(_, json) => JSON.stringify(Object.fromEntries(Object.entries(json).reverse())),
		true,
	),
	body("amounts as numbers", "json-numbers", (text) => text.replace('"129.90"', "129.9"), true),
	body("nulls left out", "json-nulls-dropped", (text) => text.replace('"reason":null,', ""), true),
	body("a byte order mark", "body-byte-order-mark", (text) => `\uFEFF${text}`, true),
	body("a line break at its end", "body-line-break-added", (text) => `${text}\n`, true),
	body("spaces around it", "body-white-space", (text) => ` ${text} `, true),
	body("empty", "body-empty", () => ""),
	body("cut", "body-cut", (text) => text.slice(0, 300)),
	body("cut by a log, with dots", "body-cut", (text) => `${text.slice(0, 300)}...`),
	body("with something behind it", "body-extended", (text) => `${text}&x=1`),
	body("UTF-8 read as Latin-1", "body-charset", (text) => Buffer.from(text).toString("latin1"), true),
	body("UTF-8 read as Windows-1252", "body-charset", (text) =>
		new TextDecoder("windows-1252").decode(Buffer.from(text)),
	),
	body("letters lost", "body-characters-lost", (text) => text.replace(/[^\p{ASCII}]/gu, "?"), true),
	body("letters composed otherwise", "body-unicode-form", (text) => text.normalize("NFD"), true),
	body(
		"escaped as HTML",
		"body-html-escaped",
		(text) =>
			text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
		true,
	),
	body("as a JSON string", "body-quoted", (text) => JSON.stringify(text), true),
	body("as Python's bytes", "body-quoted", (text) => `b'${text}'`, true),
	body("in base64", "body-in-base64", (text) => Buffer.from(text).toString("base64"), true),
	body("as form data", "body-url-encoded", (text) => `${encodeURIComponent(text)}=`, true),
	body("JavaScript's object", "body-printed-object", () => "[object Object]"),
	body("Python's dict", "body-printed-object", (text) =>
		text.replaceAll('"', "'").replaceAll(":'", ": '").replaceAll(",'", ", '"),
	),
	body("PHP's array", "body-printed-object", () => "Array\n(\n    [event] => conversion.recorded\n)"),
	body("curly quotation marks", "body-typography", (text) => text.replaceAll('"', "”")),
	body("a no-break space", "body-white-space", (text) => `${text}\u00a0`, true),
	body("an invisible character within", "body-invisible", (text) => text.replace("Ä-", "Ä\u200b-"), true),
	body("one character changed", "body-field-changed", (text) => text.replace("Ä-1001", "Ä-1002")),
	body("the body of another attempt", "body-of-another-attempt", (text) =>
		text.replace(/("sentAt":"[^"]*)\d{3}Z/, "$1777Z"),
	),
	body("the body of another callback", "body-of-another-callback", (_, __, other) => other.body),
];

const DAMAGES = [...TARGETS, ...HEADERS, ...BODIES];

eachDatabase("a damaged callback", (database) => {
	let shop: CalledShop;
	let sent: Seen;
	let other: Seen;
	/** A shop of which no attempt is kept any more. */
	let forgetful: CalledShop;
	let forgotten: Seen;
	let forgottenOther: Seen;

	before(async () => {
		shop = await openCalledShop(database.store);
		sent = await callBack(shop, ORDER);
		other = await callBack(shop, "2");
		forgetful = await openCalledShop(database.store);
		forgotten = await callBack(forgetful, ORDER);
		forgottenOther = await callBack(forgetful, "2");
		await database.store.db
			.deleteFrom("attempts")
			.where("programme_id", "=", forgetful.programme.id)
			.execute();
	});

	test("there are more than twenty kinds, each with a cause of its own", () => {
		ok(new Set(DAMAGES.map(({ found }) => found)).size > 40);
	});

	// What is found does not depend on the database, only how the attempt is looked up.
	const isPostgres = database.kind === "PostgreSQL";
	for (const damage of isPostgres ? DAMAGES.filter((_, index) => index % 6 === 0) : DAMAGES) {
		test(`${damage.what}: ${damage.found}, and nothing else`, async () => {
			const found = await check(shop, { ...sent, ...damage.do(sent, other) });
			deepEqual(wrongIn(found), [damage.found]);
			equal(found.attempt?.seq, 1);
			const step = found.steps.find(({ verdict }) => verdict === "bad");
			ok(step?.difference != null, "the exact difference is shown");
		});

		test(`${damage.what}, and no attempt is kept: ${damage.blind ? damage.found : "nothing false is said"}`, async () => {
			const found = await check(forgetful, { ...forgotten, ...damage.do(forgotten, forgottenOther) });
			equal(found.attempt, null);
			const wrong = wrongIn(found);
			if (damage.blind) deepEqual(wrong, [damage.found]);
			else
				ok(
					wrong.every((one) => isHonest(one, damage)),
					wrong.join(),
				);
		});
	}

	test("two kinds of damage at once are both named", async () => {
		const onPath = TARGETS.filter(({ found }) => found.startsWith("path"));
		const onQuery = TARGETS.filter(({ found }) => found.startsWith("query"));
		const pairs = [
			...[...onPath, ...onQuery].flatMap((one) => [...HEADERS, ...BODIES].map((two) => [one, two] as const)),
			...HEADERS.flatMap((one) => BODIES.map((two) => [one, two] as const)),
		];
		for (const [one, two] of pairs.filter(isPostgres ? isSeldom : isSampled)) {
			// Nonce and body of the other request are that request, with a signature that is not its own.
			if (one.found === "nonce another-nonce" && two.found === "body body-of-another-callback") continue;
			const once = { ...sent, ...one.do(sent, other) };
			const twice = { ...once, ...two.do(once, other) };
			const found = await check(shop, twice);
			deepEqual(wrongIn(found).toSorted(), [one.found, two.found].toSorted(), `${one.what} + ${two.what}`);
		}
	});

	test("two kinds at once are both named when no attempt is kept, or nothing false is said", async () => {
		const pairs = TARGETS.flatMap((one) => [...HEADERS, ...BODIES].map((two) => [one, two] as const));
		for (const [one, two] of pairs.filter(isPostgres ? isSeldom : isSampled)) {
			const once = { ...forgotten, ...one.do(forgotten, forgottenOther) };
			const found = await check(forgetful, { ...once, ...two.do(once, forgottenOther) });
			const wrong = wrongIn(found);
			const what = `${one.what} + ${two.what}: ${wrong.join()}`;
			if (one.blind && two.blind) deepEqual(wrong.toSorted(), [one.found, two.found].toSorted(), what);
			else
				ok(
					wrong.every((part) => isHonest(part, one) || isHonest(part, two)),
					what,
				);
		}
	});

	test("what arrived undamaged is good, however it is pasted and however old it is", async () => {
		const { body: text, headers, target: path } = sent;
		const lower = Object.fromEntries(
			Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
		);
		const php = Object.entries(headers).map(
			([name, value]) => `[HTTP_${name.toUpperCase().replaceAll("-", "_")}] => ${value}`,
		);
		const curl = Object.entries(headers).map(([name, value]) => `  -H '${name}: ${value}' \\`);
		const verbose = Object.entries(headers).map(([name, value]) => `> ${name}: ${value}`);
		const dict = Object.entries(headers).map(([name, value]) => `'${name}': '${value}',`);
		const pasted = { method: "POST", target: path, body: text };
		const ways = [JSON.stringify(lower), ...[php, curl, verbose, dict].map((lines) => lines.join("\n"))];
		for (const way of ways) deepEqual(wrongIn(await checkHeaders(shop, pasted, way)), [], way);
		deepEqual(wrongIn(await check(shop, { ...sent, target: `https://SHOP.example${path}` })), []);
		deepEqual(wrongIn(await check(shop, { ...sent, target: `POST ${path} HTTP/1.1` })), []);
		const upper = await check(shop, {
			...sent,
			headers: { ...headers, [SIGNATURE]: (headers[SIGNATURE] ?? "").toUpperCase() },
		});
		deepEqual(wrongIn(upper), []);
		match(upper.steps.find(({ part }) => part === "signature")?.text ?? "", /upper case/);
		shop.site.moveClock(HOUR_MS);
		const old = await check(shop, sent);
		deepEqual(wrongIn(old), []);
		match(old.conclusion, /The signature is right: this is exactly what we sent/);
		equal(old.attempt?.event, "conversion.recorded");
	});

	test("without an attempt, what arrived undamaged is good, too, and what nothing explains is not explained away", async () => {
		deepEqual(wrongIn(await check(forgetful, forgotten)), []);
		const strange = { ...forgotten.headers, [SIGNATURE]: "0".repeat(64), [NONCE]: "f".repeat(32) };
		const found = await check(forgetful, { ...forgotten, headers: strange });
		deepEqual(wrongIn(found), ["secret secret-unknown"]);
		match(found.conclusion, /^Check that this callback is one of this programme/, "what to do comes first");
		match(found.steps.find(({ part }) => part === "nonce")?.text ?? "", /None of our attempts/);
	});

	test("an earlier Postback URL is recognised when no attempt is kept", async () => {
		const { pathname, search } = new URL(EARLIER_URL);
		const found = await check(forgetful, { ...forgotten, target: pathname + search });
		ok(found.steps.some(({ cause }) => cause === "another-path"));
		doesNotMatch(found.conclusion, /secret/);
	});

	test("without a name in the body the attempt is found among those of its time", async () => {
		const found = await check(shop, { ...sent, body: "" });
		deepEqual([found.attempt?.event, wrongIn(found)], ["conversion.recorded", ["body body-empty"]]);
	});

	test("another shop's attempts are as unknown as none", async () => {
		const found = await check(forgetful, sent);
		equal(found.attempt, null);
		deepEqual(wrongIn(found), ["secret secret-unknown"]);
	});
});

/** All of them take a minute; every kind is among these with several others. */
function isSampled(_: unknown, index: number): boolean {
	return index % 13 === 5;
}

function isSeldom(_: unknown, index: number): boolean {
	return index % 130 === 5;
}

/** The part that was damaged, or that nothing explains it. */
function isHonest(found: string, { found: expected }: Damage): boolean {
	const isItsPart = found.split(" ")[0] === expected.split(" ")[0];
	return isItsPart || found === "secret secret-unknown" || found === "headers header-missing";
}

function checkHeaders(shop: CalledShop, pasted: Omit<Seen, "headers">, headers: string) {
	const { site, programme } = shop;
	return checkSignature(site.deps, programme, { pasted: { ...pasted, headers }, secret: "", computed: "" });
}

function escaped(json: string): string {
	return json.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** json.dumps(json.loads(body)). */
function asPython(json: string): string {
	const fields = Object.entries(JSON.parse(json)).map(
		([name, value]) => `"${name}": ${escaped(JSON.stringify(value))}`,
	);
	return `{${fields.join(", ")}}`;
}
