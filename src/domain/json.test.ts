import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { findRepeatedKey, readJson } from "./json.ts";

const CASES: readonly (readonly [what: string, json: string, key: string | undefined])[] = [
	["one of each", '{"a":1,"b":2}', undefined],
	["the same twice", '{"a":1,"a":2}', "a"],
	["the same twice with the same value", '{"a":1,"a":1}', "a"],
	["white space between", '{ "a" : 1 ,\n\t"a" : 1 }', "a"],
	["escaped the second time", '{"orderId":1,"order\\u0049d":2}', "orderId"],
	["escaped in two ways", '{"\\/":1,"\\u002f":2}', "/"],
	["a quote in the key", '{"\\"":1,"\\"":2}', '"'],
	["backslashes in the key", '{"\\\\":1,"\\\\\\\\":2}', undefined],
	["an empty key twice", '{"":1,"":2}', ""],
	["__proto__ twice", '{"__proto__":1,"__proto__":2}', "__proto__"],
	["a key as a value", '{"a":"a","b":"a"}', undefined],
	["the same word in an array", '["a","a",{"a":["a","a"]}]', undefined],
	["the same key at two depths", '{"a":{"a":{"a":1}}}', undefined],
	["the same key in neighbours", '[{"a":1},{"a":2}]', undefined],
	["twice at depth two", '{"a":{"b":1,"b":2}}', "b"],
	["twice inside an array", '{"a":[1,{"b":[],"b":{}}]}', "b"],
	["again after an object", '{"a":{"x":1},"b":[{"a":1}],"a":2}', "a"],
	["braces and commas in strings", '{"a":"},{\\"a\\":1,","b":"[,"}', undefined],
	["other cases of letters", '{"a":1,"A":2}', undefined],
	["no object at all", '"a"', undefined],
	["a number", "1e3", undefined],
];

test("text that is not JSON is read as undefined", () => {
	assert.deepEqual(readJson('{"a":[null]}'), { a: [null] });
	for (const text of ["", "rbs_x", "{", '{"a":1}x']) assert.equal(readJson(text), undefined);
});

describe("a repeated key", () => {
	for (const [what, json, key] of CASES) {
		test(`is ${key === undefined ? "not found" : "found"}: ${what}`, () => {
			JSON.parse(json);
			assert.equal(findRepeatedKey(json), key);
		});
	}

	test("is never found in the output of JSON.stringify", () => {
		fc.assert(
			fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 1, "\t"), (json, space) => {
				assert.equal(findRepeatedKey(JSON.stringify(JSON.parse(json), null, space)), undefined);
			}),
		);
	});

	test("is found exactly if JSON.parse drops something", () => {
		// The JSON text is put together by hand, because an object cannot contain a key twice. There are few
		// keys, so that some repeat.
		const spelled = fc.constantFrom('"a"', '"b"', '"\\u0061"', '"\\u0062"', '"a\\"b"', '"__proto__"', '""');
		const { value } = fc.letrec<{ value: string; array: string; object: string; leaf: string }>((tie) => ({
			value: fc.oneof({ maxDepth: 4 }, tie("leaf"), tie("array"), tie("object")),
			leaf: fc.constantFrom("1", "-0.5e3", '"a"', '"{,\\"a\\":"', "null", "true"),
			array: fc.array(tie("value"), { maxLength: 3 }).map((values) => `[${values.join(" , ")}]`),
			object: fc
				.array(fc.tuple(spelled, tie("value")), { maxLength: 3 })
				.map((fields) => `{${fields.map(([key, inner]) => `${key} :${inner}`).join(",")}}`),
		}));
		const seen = { repeated: 0, plain: 0 };
		fc.assert(
			fc.property(value, (json) => {
				// If fewer keys and values were parsed than the text contains, one was dropped.
				const isRepeated = countParts(JSON.parse(json)) < countWrittenParts(json);
				assert.equal(findRepeatedKey(json) !== undefined, isRepeated, json);
				seen[isRepeated ? "repeated" : "plain"]++;
			}),
			{ numRuns: 2_000 },
		);
		assert.ok(seen.repeated > 100 && seen.plain > 100, JSON.stringify(seen));
	});

	test("is found in linear time in any text that fits a body", () => {
		const depth = 20_000;
		const deep = `${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`;
		assert.equal(findRepeatedKey(deep), undefined);
		const wide = JSON.stringify(
			Object.fromEntries(Array.from({ length: depth }, (_, at) => [`k${at}`, '\\"'])),
		);
		assert.equal(findRepeatedKey(wide), undefined);
		assert.equal(findRepeatedKey(`${wide.slice(0, -1)},"k0":1}`), "k0");
	});
});

function countParts(value: unknown): number {
	if (typeof value !== "object" || value === null) return 1;
	const inner = Object.getOwnPropertyNames(value).filter(
		(name) => !(Array.isArray(value) && name === "length"),
	);
	return (
		1 + inner.reduce((sum, name) => sum + countParts(Object.getOwnPropertyDescriptor(value, name)?.value), 0)
	);
}

/** Counts the objects, arrays and other values in a JSON text without parsing it. */
function countWrittenParts(json: string): number {
	const bare = json.replace(/"(?:[^"\\]|\\.)*"/g, "0").replaceAll(/\s/g, "");
	return bare.replaceAll(/0:/g, "").match(/\{|\[|[^{}[\],]+/g)?.length ?? 0;
}
