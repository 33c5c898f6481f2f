import assert from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import known from "../../../receiver/vectors.json" with { type: "json" };
import {
	canonicalString,
	headerNames,
	judgeTimestamp,
	sha256Hex,
	sign,
	signatureMatches,
	signingKey,
	TIMESTAMP_TOLERANCE_SECONDS,
	type TimestampVerdict,
} from "./signature.ts";

const NOW_SECONDS = 1_767_225_600;
const SECRET = "example-signing-secret";
const KEY = signingKey(SECRET);
const CANONICAL = canonicalString("POST", "/postback", String(NOW_SECONDS), "00ff", sha256Hex(""));

for (const vector of known.vectors) {
	test(`contract 5: digest, canonical string and signature are those of openssl: ${vector.name}`, () => {
		const bodySha256 = sha256Hex(Buffer.from(vector.bodyBase64, "base64"));
		assert.equal(bodySha256, vector.bodySha256);
		const { method, target, timestamp, nonce } = vector;
		const canonical = canonicalString(method, target, timestamp, nonce, bodySha256);
		assert.equal(canonical, vector.canonical);
		const key = signingKey(vector.secret);
		assert.equal(sign(key, canonical), vector.signature);
		assert.equal(signatureMatches(key, canonical, vector.signature), true);
		assert.equal(signatureMatches(signingKey(`${vector.secret} `), canonical, vector.signature), false);
	});
}

test("a signing key shows nothing of its secret", () => {
	const key = signingKey("rbs_never_shown");
	assert.doesNotMatch(
		`${inspect(key, { showHidden: true, depth: 9 })} ${JSON.stringify(key)} ${key}`,
		/rbs|44 54 45/,
	);
});

test("contract 5: text and its UTF-8 bytes have the same digest", () => {
	const text = '{"orderId":"ü🔑\u2028"}';
	assert.equal(sha256Hex(text), sha256Hex(Buffer.from(text, "utf8")));
	assert.equal(sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
});

test("contract 4.3 rule 2: a signature matches in lower, upper and mixed case", () => {
	const signature = sign(KEY, CANONICAL);
	assert.match(signature, /^[0-9a-f]{64}$/);
	const mixed = signature.slice(0, 32).toUpperCase() + signature.slice(32);
	for (const form of [signature, signature.toUpperCase(), mixed]) {
		assert.equal(signatureMatches(KEY, CANONICAL, form), true);
	}
});

test("a signature of the wrong length, alphabet or form is refused and does not throw", () => {
	const good = sign(KEY, CANONICAL);
	const wrong = [
		...["", "0", good.slice(1), good.slice(0, -1), good.slice(2), `${good}0`, `${good}00`, good + good],
		...[` ${good}`, `${good} `, `${good}\n`, `0x${good}`, `0x${good.slice(2)}`, `sha256=${good}`],
		...[
			`g${good.slice(1)}`,
			`${good.slice(0, -1)}é`,
			`${good.slice(0, -1)}０`,
			"z".repeat(64),
			"0".repeat(64),
		],
		Buffer.from(good, "hex").toString("base64"),
	];
	for (const signature of wrong) assert.equal(signatureMatches(KEY, CANONICAL, signature), false, signature);
});

const TIMESTAMP_EDGES: [offsetSeconds: number, verdict: TimestampVerdict][] = [
	[0, "fresh"],
	[-300, "fresh"],
	[300, "fresh"],
	[-301, "stale"],
	[301, "stale"],
];

test("contract 8: a timestamp is fresh up to 300 seconds either way and stale from 301", () => {
	assert.equal(TIMESTAMP_TOLERANCE_SECONDS, 300);
	for (const [offset, verdict] of TIMESTAMP_EDGES) {
		for (const millisecond of [0, 1, 500, 999]) {
			const nowMs = NOW_SECONDS * 1000 + millisecond;
			assert.equal(judgeTimestamp(String(NOW_SECONDS + offset), nowMs), verdict, `${offset} s`);
		}
	}
	for (const far of ["0", "1", `${NOW_SECONDS}000`, "999999999999999"]) {
		assert.equal(judgeTimestamp(far, NOW_SECONDS * 1000), "stale", far);
	}
});

test("contract 4.3 rule 1: a timestamp that is not all digits is malformed", () => {
	const now = String(NOW_SECONDS);
	const wrong = [
		...["", " ", "now", "NaN", "Infinity", "null", `-${now}`, `+${now}`, ` ${now}`, `${now} `, `${now}\n`],
		...[`${now}.0`, `${now}.`, "1.7672256e9", "1767225600e0", "0x69560000", "1_767_225_600", "1,767,225,600"],
		...[
			"١٧٦٧٢٢٥٦٠٠",
			"１７６７２２５６００",
			`${now}n`,
			`${now}, ${now}`,
			new Date(NOW_SECONDS * 1000).toISOString(),
		],
		...["1".repeat(16), "9".repeat(10_000)],
	];
	for (const timestamp of wrong) {
		assert.equal(judgeTimestamp(timestamp, NOW_SECONDS * 1000), "malformed", timestamp);
	}
});

test("contract 2.1: the headers carry the brand, and the default word is Service", () => {
	assert.deepEqual(headerNames("Service"), {
		event: "X-Service-Event",
		timestamp: "X-Service-Timestamp",
		nonce: "X-Service-Nonce",
		signature: "X-Service-Signature",
	});
	assert.deepEqual(headerNames("Acme"), {
		event: "X-Acme-Event",
		timestamp: "X-Acme-Timestamp",
		nonce: "X-Acme-Nonce",
		signature: "X-Acme-Signature",
	});
});
