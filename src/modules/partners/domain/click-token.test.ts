import assert from "node:assert/strict";
import { randomBytes, randomInt } from "node:crypto";
import { test } from "node:test";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { SEALING_IV_BYTES } from "#core/domain/sealing.ts";
import { DAY_MS } from "#core/domain/time.ts";
import { type Click, createClickSealer, keptSubIds, MAX_SUB_ID_BYTES, NO_SUB_IDS } from "./click-token.ts";

const KEY = randomBytes(32);
const sealer = createClickSealer(createKeyRing([KEY]));
const AT_MS = Date.UTC(2026, 10, 17, 15, 30, 12, 345);
const CLICK: Click = {
	programmeId: 7,
	partnershipId: 4_000_000_000,
	linkId: 31,
	atMs: AT_MS,
	subIds: NO_SUB_IDS,
};

function seal(click: Click, tokenSealer = sealer): string {
	return tokenSealer.seal(click, randomBytes(SEALING_IV_BYTES));
}

test("a click ID opens to its content in any process, and has the documented length", () => {
	for (const subIds of [NO_SUB_IDS, ["news", "", "März"], ["a".repeat(MAX_SUB_ID_BYTES), "", ""]] as const) {
		for (const atMs of [AT_MS, AT_MS - (AT_MS % DAY_MS), 0]) {
			const token = seal({ ...CLICK, subIds, atMs });
			assert.deepEqual(createClickSealer(createKeyRing([KEY])).open(token), { ...CLICK, subIds, atMs });
			assert.match(token, /^[\w-]+$/);
			assert.ok(token.length >= 67 && token.length <= 195, String(token.length));
		}
	}
	assert.equal(seal(CLICK).length, 67);
	assert.equal(seal({ ...CLICK, subIds: ["x".repeat(MAX_SUB_ID_BYTES), "", ""] }).length, 195);
});

test("two click IDs of one link at the same moment have nothing visible in common", () => {
	const [one, other] = [seal(CLICK), seal(CLICK)];
	assert.notEqual(one.slice(5), other.slice(5));
	assert.equal(createClickSealer(createKeyRing([randomBytes(32)])).open(one), null, "another network's key");
});

test("a click ID that was changed, cut or spelt differently does not open", () => {
	const token = seal({ ...CLICK, subIds: ["news", "top", ""] });
	const bytes = Buffer.from(token, "base64url");
	for (let bit = 0; bit < bytes.length * 8; bit++) {
		const changed = Buffer.from(bytes);
		changed[bit >> 3] = (changed[bit >> 3] ?? 0) ^ (1 << (bit & 7));
		assert.equal(sealer.open(changed.toString("base64url")), null, `bit ${bit}`);
	}
	for (let length = 0; length < token.length; length++)
		assert.equal(sealer.open(token.slice(0, length)), null);
	for (const other of [`${token}=`, `${token} `, ` ${token}`, token.replaceAll("-", "+"), "", "rbclick"]) {
		if (other !== token) assert.equal(sealer.open(other), null, other);
	}
	for (let round = 0; round < 2_000; round++) {
		const garbage = randomBytes(randomInt(0, 160));
		if (garbage.length > 0) garbage[0] = 1;
		assert.equal(sealer.open(garbage.toString("base64url")), null);
	}
});

test("sub IDs are kept as far as they fit, and one that may be a person's address is dropped", () => {
	const long = "x".repeat(MAX_SUB_ID_BYTES - 3);
	for (const [given, kept] of [
		[
			["a", "b", "c"],
			["a", "b", "c"],
		],
		[
			[undefined, "b"],
			["", "b", ""],
		],
		[
			["mira@example.com", "b", "c"],
			["", "b", "c"],
		],
		[
			[long, "four", "abc"],
			[long, "", "abc"],
		],
		[
			["é".repeat(48), "x", ""],
			["é".repeat(48), "", ""],
		],
		[
			["a\nb", "\u200b", "\ud800"],
			["", "", ""],
		],
	] as const) {
		assert.deepEqual(keptSubIds(given), kept);
	}
});
