import assert from "node:assert/strict";
import { test } from "node:test";
import { isKnownEvent, parseEvent } from "./event.ts";
import { sampleEvent } from "./sample-delivery.test-support.ts";

const fields = Object.keys(sampleEvent);

test("an event has the 14 fields of the contract", () => {
	assert.equal(fields.length, 14);
	assert.deepEqual(parse(sampleEvent), { ok: true, event: sampleEvent });
	assert.equal(isKnownEvent(sampleEvent), true);
});

for (const event of ["conversion.recorded", "conversion.approved", "conversion.disputed"]) {
	test(`a ${event} without a reason keeps its null`, () => {
		const body = { ...sampleEvent, event, reason: null };
		assert.deepEqual(parse(body), { ok: true, event: body });
	});
}

for (const event of ["conversion.rejected", "conversion.reversed"]) {
	test(`a ${event} without a reason is refused, because the contract promises one`, () => {
		const detail = "Missing or of the wrong type: reason (string).";
		assert.deepEqual(parse({ ...sampleEvent, event, reason: null }), { ok: false, detail });
	});
}

test("an unknown field is ignored", () => {
	assert.deepEqual(parse({ ...sampleEvent, version: 2, nested: { a: [] } }), {
		ok: true,
		event: sampleEvent,
	});
});

test("an event name that is unknown today is passed on", () => {
	const parsed = parse({ ...sampleEvent, event: "conversion.disputed" });
	assert.equal(parsed.ok && parsed.event.event, "conversion.disputed");
	assert.equal(parsed.ok && isKnownEvent(parsed.event), false);
});

for (const field of fields) {
	test(`a body is refused, naming the field, when ${field} is missing or of another type`, () => {
		const { [field]: _, ...without } = { ...sampleEvent } as Record<string, unknown>;
		const wrongTypes = [1, {}, [], ["x"], ...(field === "test" ? ["true", null] : [true])];
		if (field !== "reason" && field !== "test") wrongTypes.push(null);
		for (const body of [without, ...wrongTypes.map((value) => ({ ...sampleEvent, [field]: value }))]) {
			const parsed = parse(body);
			assert.ok(!parsed.ok && parsed.detail.startsWith(`Missing or of the wrong type: ${field} (`));
		}
	});
}

test("a body with several faults names each of them", () => {
	const parsed = parse({ ...sampleEvent, commission: 10.39, test: 0 });
	assert.ok(!parsed.ok);
	assert.equal(parsed.detail, "Missing or of the wrong type: commission (string), test (boolean).");
});

test("no field is read from a prototype that the body sets", () => {
	const { orderId: _, ...rest } = sampleEvent;
	const body = `{"__proto__":{"orderId":"A-1"},${JSON.stringify(rest).slice(1)}`;
	assert.equal(parseEvent(Buffer.from(body)).ok, false);
});

const notObjects: [string, Uint8Array][] = [
	["nothing", Buffer.from("")],
	["broken JSON", Buffer.from('{"event":')],
	["an array", Buffer.from("[]")],
	["null", Buffer.from("null")],
	["a string", Buffer.from('"event"')],
	["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
];
for (const [name, body] of notObjects) {
	test(`a body that is ${name} is refused without quoting it`, () => {
		assert.deepEqual(parseEvent(body), { ok: false, detail: "The body is not a JSON object in UTF-8." });
	});
}

function parse(body: unknown) {
	return parseEvent(Buffer.from(JSON.stringify(body)));
}
