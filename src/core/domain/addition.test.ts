import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { after, atEnd, withAdditions } from "./addition.ts";

const nameOf = (entry: string) => entry;

test("entries are added directly after the one that they name, or at the end", () => {
	const additions = [
		after("a", "one", "two"),
		after("a", "nearer"),
		atEnd("last"),
		after("last", "after an addition"),
	];
	const joined = ["a", "nearer", "one", "two", "b", "last", "after an addition"];
	deepEqual(withAdditions(["a", "b"], additions, nameOf), joined);
	deepEqual(withAdditions([], [atEnd("only")], nameOf), ["only"]);
});

test("an entry after one that does not exist is refused", () => {
	throws(() => withAdditions(["a"], [after("z", "b")], nameOf), /“z”, which is not in the list/);
});
