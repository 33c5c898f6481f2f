import assert from "node:assert/strict";
import { test } from "node:test";
import known from "../vectors.json" with { type: "json" };
import { digestSha256, formCanonical, isSignedWith } from "./hmac.ts";
import { verifyPostback } from "./verify.ts";

const minimumVectors = 10;

test("there are enough vectors, and each has a unique name", () => {
	assert.ok(known.vectors.length >= minimumVectors);
	assert.equal(new Set(known.vectors.map((vector) => vector.name)).size, known.vectors.length);
});

for (const vector of known.vectors) {
	test(`digest, canonical string and signature are those of openssl: ${vector.name}`, async () => {
		const bodySha256 = await digestSha256(new Uint8Array(Buffer.from(vector.bodyBase64, "base64")));
		assert.equal(bodySha256, vector.bodySha256);
		const canonical = formCanonical({ ...vector, bodySha256 });
		assert.equal(canonical, vector.canonical);
		assert.equal(await isSignedWith(vector.secret, canonical, vector.signature), true);
		assert.equal(await isSignedWith(`${vector.secret} `, canonical, vector.signature), false);
	});
}

for (const vector of known.vectors) {
	const isPost = vector.method === "POST";
	test(`verifying ${isPost ? "accepts" : "refuses"} the signature of: ${vector.name}`, async () => {
		const result = await verifyPostback({
			path: vector.target,
			headers: {
				"X-Service-Event": "conversion.approved",
				"X-Service-Timestamp": vector.timestamp,
				"X-Service-Nonce": vector.nonce,
				"X-Service-Signature": vector.signature,
			},
			rawBody: Buffer.from(vector.bodyBase64, "base64"),
			secret: vector.secret,
			now: Number(vector.timestamp) * 1000,
		});
		// Some vectors contain no event. The body is parsed only after the signature was accepted, so the reason
		// must be the body.
		if (isPost) assert.ok(result.ok || result.reason === "malformed_body", JSON.stringify(result));
		else assert.equal(result.ok || result.reason, "bad_signature");
	});
}
