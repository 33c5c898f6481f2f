import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { withAdditions } from "./addition.ts";

const nameOf = (entry: string) => entry;

test("entries are added directly after the one that they name, or at the end", () => {
	const additions = [
		{ after: "a", entries: ["one", "two"] },
		{ after: "a", entries: ["nearer"] },
		{ after: null, entries: ["last"] },
		{ after: "last", entries: ["after an addition"] },
	];
	const joined = ["a", "nearer", "one", "two", "b", "last", "after an addition"];
	deepEqual(withAdditions(["a", "b"], additions, nameOf), joined);
	deepEqual(withAdditions([], [{ after: null, entries: ["only"] }], nameOf), ["only"]);
});

test("an entry after one that does not exist is refused", () => {
	throws(
		() => withAdditions(["a"], [{ after: "z", entries: ["b"] }], nameOf),
		/“z”, which is not in the list/,
	);
});
