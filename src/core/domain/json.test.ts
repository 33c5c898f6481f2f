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

	test("is found exactly if an object of a random text has the same key twice", () => {
		// The JSON text is put together by hand, because an object cannot contain a key twice. There are few
		// keys, so that some repeat.
		const keys = { '"a"': "a", '"b"': "b", '"\\u0061"': "a", '"\\u0062"': "b", '"a\\"b"': 'a"b', '""': "" };
		const key = fc.constantFrom(...Object.entries(keys), ['"__proto__"', "__proto__"] as const);
		const leaves = ["1", "-0.5e3", '"a"', '"{,\\"a\\":"', "null", "true"];
		const { value } = fc.letrec<{ value: Written; array: Written; object: Written; leaf: Written }>(
			(tie) => ({
				value: fc.oneof({ maxDepth: 4 }, tie("leaf"), tie("array"), tie("object")),
				leaf: fc.constantFrom(...leaves).map((json) => ({ json, isRepeated: false })),
				array: fc.array(tie("value"), { maxLength: 3 }).map((values) => ({
					json: `[${values.map(({ json }) => json).join(" , ")}]`,
					isRepeated: values.some(({ isRepeated }) => isRepeated),
				})),
				object: fc.array(fc.tuple(key, tie("value")), { maxLength: 3 }).map((fields) => ({
					json: `{${fields.map(([[spelled], inner]) => `${spelled} :${inner.json}`).join(",")}}`,
					isRepeated:
						new Set(fields.map(([[, name]]) => name)).size < fields.length ||
						fields.some(([, inner]) => inner.isRepeated),
				})),
			}),
		);
		const seen = { repeated: 0, plain: 0 };
		fc.assert(
			fc.property(value, ({ json, isRepeated }) => {
				JSON.parse(json);
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

/** Random JSON text, and whether one of its objects has a key twice. */
interface Written {
	json: string;
	isRepeated: boolean;
}
