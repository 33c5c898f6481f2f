import { deepEqual, equal, match, ok } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { describe, test } from "node:test";
import type { PastedRequest } from "./pasted-request.ts";
import { headerNames } from "./signature.ts";
import { diagnoseSignature } from "./signature-diagnosis.ts";
import type { SecretStanding } from "./signature-secrets.ts";
import type { DiagnosisContext } from "./signed-parts.ts";

const NOW_MS = Date.UTC(2026, 2, 1, 12);
const SECRET = "rbs_0123456789abcdef";
const PREVIOUS = "rbs_fedcba9876543210";
const CONTEXT: DiagnosisContext = {
	names: headerNames("Service"),
	secrets: [
		{ text: SECRET, name: "the programme's active secret", standing: { kind: "right" }, since: null },
		{ text: PREVIOUS, name: "the programme's previous secret", standing: { kind: "other" }, since: null },
	],
	origins: ["https://ringback.example"],
	callbackTargets: [],
	sent: null,
	composed: [],
	looked: null,
	isNonceSpent: false,
	received: [],
	computed: "",
	nowMs: NOW_MS,
};
const TARGET = "/v1/conversions/?a=1&b=%C3%A9";
const BODY = '{"orderId":"Ä/1","basketValue":"10.00","list":[1,{"b":2}]}';

interface Signed {
	method: string;
	target: string;
	timestamp: string;
	nonce: string;
	body: string;
	secret: string;
}
const SIGNED: Signed = {
	method: "POST",
	target: TARGET,
	timestamp: String(NOW_MS / 1000),
	nonce: "00112233445566778899aabbccddeeff",
	body: BODY,
	secret: SECRET,
};

/** What was signed, by the contract's section 5 alone. */
function hmac(signed: Signed): string {
	const digest = createHash("sha256").update(signed.body).digest("hex");
	const canonical = [signed.method, signed.target, signed.timestamp, signed.nonce, digest].join("\n");
	return createHmac("sha256", signed.secret).update(canonical).digest("hex");
}

/** The request as sent, with a signature over what `change` makes of it. */
function pasted(change: Partial<Signed> = {}, sent: Partial<PastedRequest> = {}): PastedRequest {
	const signed = { ...SIGNED, ...change };
	return {
		method: "POST",
		target: TARGET,
		body: BODY,
		headers: `Host: ringback.example\nX-Service-Timestamp: ${signed.timestamp}\nx-service-nonce: ${signed.nonce}\r\n> X-Service-Signature:${hmac(signed)} `,
		...sent,
	};
}

function wrongParts(request: PastedRequest, context: DiagnosisContext = CONTEXT): string[] {
	const { steps, isGood } = diagnoseSignature(request, context);
	const wrong = steps.filter(({ verdict }) => verdict === "bad").map(({ part }) => part);
	equal(isGood, wrong.length === 0);
	return wrong;
}

function textOf(part: string, request: PastedRequest, context: DiagnosisContext = CONTEXT): string {
	return diagnoseSignature(request, context).steps.find((step) => step.part === part)?.text ?? "";
}

test("a right signature has every part right, whether a path or a whole URL was pasted", () => {
	const plain = diagnoseSignature(pasted(), CONTEXT);
	equal(plain.isGood, true);
	deepEqual([...new Set(plain.steps.map(({ verdict }) => verdict))], ["good"]);
	deepEqual(wrongParts(pasted({}, { target: `https://ringback.example${TARGET}` })), []);
	ok(plain.canonical?.startsWith(`POST\n${TARGET}\n`));
});

test("a body with line breaks is judged as it was before the browser sent it", () => {
	const body = '{\n  "orderId": "1"\n}';
	deepEqual(wrongParts(pasted({ body }, { body: body.replaceAll("\n", "\r\n") })), []);
});

describe("one mistake, and the part that it is found in", () => {
	const cases: readonly [title: string, part: string, change: Partial<Signed>, text: RegExp][] = [
		["the query was not signed", "query", { target: "/v1/conversions/" }, /query string/],
		["a slash too few", "path", { target: "/v1/conversions?a=1&b=%C3%A9" }, /with the slash/],
		["decoded", "query", { target: "/v1/conversions/?a=1&b=é" }, /percent-encoded/],
		["the full URL", "path", { target: `https://ringback.example${TARGET}` }, /without scheme/],
		["no slash at the start", "path", { target: TARGET.slice(1) }, /begins with a slash/],
		["indented JSON", "body", { body: JSON.stringify(JSON.parse(BODY), null, 2) }, /re-serialised.*two/],
		[
			"Python's JSON",
			"body",
			{ body: '{"orderId": "\\u00c4/1", "basketValue": "10.00", "list": [1, {"b": 2}]}' },
			/Python/,
		],
		["PHP's JSON", "body", { body: BODY.replace("Ä/", "\\u00c4\\/") }, /PHP/],
		[
			"fields in another order",
			"body",
			{ body: '{"basketValue":"10.00","list":[1,{"b":2}],"orderId":"Ä/1"}' },
			/order/,
		],
		["a line break more", "body", { body: `${BODY}\n` }, /line break at its end that was not sent/],
		["no body", "body", { body: "" }, /empty body/],
		["the previous secret", "secret", { secret: PREVIOUS }, /previous secret/],
		["a secret with a line break", "secret", { secret: `${SECRET}\n` }, /line break/],
		["a secret without its beginning", "secret", { secret: SECRET.slice(4) }, /rbs_/],
		["an unknown secret", "secret", { secret: "rbs_other" }, /^None of this programme's secrets gives/],
		["the wrong method", "method", { method: "GET" }, /method GET/],
		["the method in lower case", "method", { method: "post" }, /capital letters/],
	];
	for (const [title, part, change, text] of cases) {
		test(`${title}: ${part}, and nothing else`, () => {
			const request = pasted(change);
			deepEqual(wrongParts(request), [part]);
			match(textOf(part, request), text);
		});
	}

	test("parameters that were sorted before signing", () => {
		const request = pasted({}, { target: "/v1/conversions/?b=%C3%A9&a=1" });
		deepEqual(wrongParts(request), ["query"]);
		match(textOf("query", request), /another order/);
	});

	test("a slash too many is found, too", () => {
		const request = pasted({ target: "/v1/conversions/" }, { target: "/v1/conversions" });
		deepEqual(wrongParts(request), ["path"]);
		match(textOf("path", request), /without the slash/);
	});

	test("CRLF line breaks that were signed but not sent", () => {
		const request = pasted({ body: "a\r\nb" }, { body: "a\nb" });
		deepEqual(wrongParts(request), ["body"]);
		match(textOf("body", request), /CRLF/);
	});
});

test("where only another secret is left as a cause, the conclusion begins with what to do", () => {
	const { conclusion, isGood } = diagnoseSignature(pasted({ secret: "rbs_other" }), CONTEXT);
	equal(isGood, false);
	match(conclusion, /^Compare the last characters of the secret your code signs with /);
});

test("two mistakes at once are both named", () => {
	deepEqual(wrongParts(pasted({ target: "/v1/conversions/", body: `${BODY}\n` })), ["query", "body"]);
});

test("the programme's own secret is recognised when another one was pasted to check with", () => {
	const own = CONTEXT.secrets.map((secret) => ({ ...secret, standing: { kind: "other" } as const }));
	const standing = { kind: "right" } as const;
	const asked = { text: "rbs_typo", name: "the secret you pasted", standing, since: null };
	const secrets = [asked, ...own];
	const request = pasted();
	deepEqual(wrongParts(request, { ...CONTEXT, secrets }), ["secret"]);
	match(textOf("secret", request, { ...CONTEXT, secrets }), /the programme's active secret/);
});

describe("the timestamp", () => {
	for (const [title, timestamp, text] of [
		["301 seconds early", String(NOW_MS / 1000 + 301), /301 seconds ahead/],
		["in milliseconds", String(NOW_MS), /milliseconds/],
		["with a decimal", `${NOW_MS / 1000}.5`, /digits only/],
	] as const) {
		test(`${title} is the part that is wrong, although the signature over it is right`, () => {
			const request = pasted({ timestamp });
			deepEqual(wrongParts(request), ["timestamp"]);
			match(textOf("timestamp", request), text);
		});
	}

	test("an old one is pointed out and not blamed: it may have been pasted later", () => {
		const request = pasted({ timestamp: String(NOW_MS / 1000 - 301) });
		deepEqual(wrongParts(request), []);
		match(textOf("timestamp", request), /301 seconds behind/);
	});

	test("300 seconds are within the window", () => {
		deepEqual(wrongParts(pasted({ timestamp: String(NOW_MS / 1000 - 300) })), []);
	});
});

describe("the signature's own shape", () => {
	const inHeaders = (write: (hex: string) => string) => {
		const request = pasted();
		const hex = hmac(SIGNED);
		return { ...request, headers: request.headers.replace(hex, write(hex)) };
	};
	test("upper-case hex is pointed out, and accepted as the service does", () => {
		const { isGood, steps } = diagnoseSignature(
			inHeaders((hex) => hex.toUpperCase()),
			CONTEXT,
		);
		equal(isGood, true);
		equal(steps.find(({ part }) => part === "signature")?.verdict, "warn");
		match(steps.find(({ part }) => part === "signature")?.text ?? "", /upper-case/);
	});
	for (const [title, write, text] of [
		["base64", (hex: string) => Buffer.from(hex, "hex").toString("base64"), /base64/],
		["a prefix", (hex: string) => `sha256=${hex}`, /sha256=/],
	] as const) {
		test(`${title} is the one thing that is wrong`, () => {
			deepEqual(wrongParts(inHeaders(write)), ["signature"]);
			match(textOf("signature", inHeaders(write)), text);
		});
	}
	test("a signature that was cut short says how long it is", () => {
		match(
			textOf(
				"signature",
				inHeaders((hex) => hex.slice(0, 40)),
			),
			/40 of 64 characters/,
		);
	});
});

test("a nonce of other characters is wrong", () => {
	deepEqual(wrongParts(pasted({ nonce: "no spaces allowed" })), ["nonce"]);
});

test("a header that is missing is named, and nothing is guessed", () => {
	const { isGood, conclusion, steps, canonical } = diagnoseSignature(
		pasted({}, { headers: "X-Service-Nonce: 0011223344556677" }),
		CONTEXT,
	);
	equal(isGood, false);
	deepEqual(
		steps.map(({ part }) => part),
		["headers"],
	);
	match(conclusion, /^Paste each header .* Missing: X-Service-Timestamp, X-Service-Signature\.$/);
	equal(canonical, null);
});

test("without any secret it says where one comes from", () => {
	match(textOf("secret", pasted(), { ...CONTEXT, secrets: [] }), /first API key/);
});

test("no step ever repeats a secret", () => {
	for (const change of [{}, { secret: PREVIOUS }, { secret: `${SECRET}\n` }, { secret: "rbs_other" }]) {
		const told = JSON.stringify(diagnoseSignature(pasted(change), CONTEXT));
		for (const secret of [SECRET, PREVIOUS]) ok(!told.includes(secret.slice(4)));
	}
});

describe("a request that was signed with another of the programme's secrets", () => {
	const goodUntilMs = NOW_MS + 60_000;
	const endedAtMs = NOW_MS - 60_000;
	const withStanding = (standing: SecretStanding): DiagnosisContext => ({
		...CONTEXT,
		secrets: [
			{ text: SECRET, name: "the programme's active secret", standing: { kind: "right" }, since: null },
			{ text: PREVIOUS, name: "the programme's other secret", standing, since: null },
		],
	});
	const toUs = pasted({ secret: PREVIOUS });
	const fromUs = { ...toUs, headers: `${toUs.headers}\nX-Service-Event: conversion.approved` };
	const elsewhere = pasted({ secret: PREVIOUS, target: "/postback" }, { target: "/postback" });
	const late = pasted({ secret: PREVIOUS, timestamp: String(goodUntilMs / 1000) });
	const replaced = { kind: "replaced", goodUntilMs } as const;
	const ended = { kind: "ended", atMs: endedAtMs } as const;
	const CASES: readonly [
		what: string,
		standing: SecretStanding,
		request: PastedRequest,
		isGood: boolean,
		text: RegExp,
		nowMs?: number,
	][] = [
		["prepared, to us", { kind: "prepared" }, toUs, true, /We accept it\. .* once you activate it/],
		[
			"prepared, from us",
			{ kind: "prepared" },
			fromUs,
			false,
			/signed with the active one until you activate/,
		],
		["replaced, to us", replaced, toUs, true, /We accept it until 2026-03-01 12:01 UTC/],
		["replaced, to us, when its day is over", replaced, late, false, /We accepted it until/, goodUntilMs],
		["replaced, from us", replaced, fromUs, false, /signed with the active one since then/],
		["replaced, from us to any path", replaced, elsewhere, false, /signed with the active one since then/],
		["ended, to us", ended, toUs, false, /ended on 2026-03-01 11:59 UTC .* sign with the active one/],
		["ended, from us", ended, fromUs, false, /ended on .* verify with the active one/],
		[
			"tried for its name only",
			{ kind: "other" },
			toUs,
			false,
			/^Compare the last characters .* was signed with the programme's other secret, not with what you pasted\.$/,
		],
	];
	for (const [what, standing, request, isGood, text, nowMs = NOW_MS] of CASES) {
		test(`${what}: ${isGood ? "accepted, with a note" : "refused"}`, () => {
			const found = diagnoseSignature(request, { ...withStanding(standing), nowMs });
			const step = found.steps.find(({ part }) => part === "secret");
			deepEqual([found.isGood, step?.verdict], [isGood, isGood ? "warn" : "bad"]);
			match(step?.text ?? "", text);
		});
	}
});
