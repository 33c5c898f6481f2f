import assert from "node:assert/strict";
import { test } from "node:test";
import { sampleDelivery } from "./sample-delivery.test-support.ts";
import { verifyPostback } from "./verify.ts";

const genuine = sampleDelivery();

test("the request that these tests tamper with is genuine", async () => {
	assert.equal((await verifyPostback(genuine)).ok, true);
});

test("any one bit flipped in the body is refused", async () => {
	for (const rawBody of flipEachBit(Buffer.from(genuine.rawBody)))
		await assertRefused({ ...genuine, rawBody });
});

test("any one bit flipped in the path or query string is refused", async () => {
	for (const flipped of flipEachBit(Buffer.from(genuine.path))) {
		await assertRefused({ ...genuine, path: flipped.toString("latin1") });
	}
});

for (const name of ["X-Service-Timestamp", "X-Service-Nonce"]) {
	test(`any one bit flipped in ${name} is refused`, async () => {
		for (const flipped of flipEachBit(Buffer.from(genuine.headers[name] ?? ""))) {
			await assertRefused(withHeader(name, flipped.toString("latin1")));
		}
	});
}

// A bit of the signature's bytes is flipped, and not of its hex digits, because one bit of a hex letter only
// changes its case.
test("any one bit flipped in the signature is refused", async () => {
	for (const flipped of flipEachBit(Buffer.from(genuine.headers["X-Service-Signature"] ?? "", "hex"))) {
		await assertRefused(withHeader("X-Service-Signature", flipped.toString("hex")));
	}
});

async function assertRefused(request: Parameters<typeof verifyPostback>[0]): Promise<void> {
	assert.equal((await verifyPostback(request)).ok, false, JSON.stringify(request));
}

function withHeader(name: string, value: string) {
	return { ...genuine, headers: { ...genuine.headers, [name]: value } };
}

function* flipEachBit(bytes: Buffer): Generator<Buffer> {
	assert.ok(bytes.length > 0);
	for (let bit = 0; bit < bytes.length * 8; bit++) {
		const flipped = Buffer.from(bytes);
		flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
		yield flipped;
	}
}
