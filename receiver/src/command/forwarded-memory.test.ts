import assert from "node:assert/strict";
import { test } from "node:test";
import { createForwardedMemory } from "./forwarded-memory.ts";

test("an event is new once; another event of the conversion, or another conversion's, is new too", () => {
	const isNew = createForwardedMemory();
	assert.equal(isNew("cnv_1", "conversion.recorded"), true);
	assert.equal(isNew("cnv_1", "conversion.recorded"), false);
	assert.equal(isNew("cnv_1", "conversion.approved"), true);
	assert.equal(isNew("cnv_2", "conversion.recorded"), true);
});

test("the last ten thousand are remembered, and no more", () => {
	const isNew = createForwardedMemory();
	for (let n = 0; n <= 10_000; n++) isNew(`cnv_${n}`, "conversion.recorded");
	assert.equal(isNew("cnv_1", "conversion.recorded"), false);
	assert.equal(isNew("cnv_0", "conversion.recorded"), true);
});
