import { equal } from "node:assert/strict";
import { test } from "node:test";
import { sayBytes } from "./bytes.ts";

test("a size has the unit that keeps it short, and one decimal below a hundred", () => {
	const cases: readonly [number, string][] = [
		[0, "0 kB"],
		[4_096, "4.1 kB"],
		[999_000, "999 kB"],
		[1_000_000, "1 MB"],
		[714_219_520, "714 MB"],
		[12_340_000_000, "12.3 GB"],
		[3_900_000_000_000, "3.9 TB"],
	];
	for (const [bytes, said] of cases) equal(sayBytes(bytes), said);
});
