import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { compareForm } from "./form-changes.ts";

const CASES = [
	{ title: "an untouched field", shown: 1, wanted: 1, stored: 1, changed: false, overtaken: false },
	{
		title: "an untouched field that another changed",
		shown: 1,
		wanted: 1,
		stored: 2,
		changed: false,
		overtaken: false,
	},
	{
		title: "a field that the form did not contain",
		shown: 1,
		wanted: undefined,
		stored: 2,
		changed: false,
		overtaken: false,
	},
	{ title: "a changed field", shown: 1, wanted: 2, stored: 1, changed: true, overtaken: false },
	{
		title: "a field that both changed to the same value",
		shown: 1,
		wanted: 2,
		stored: 2,
		changed: false,
		overtaken: false,
	},
	{
		title: "a field that both changed differently",
		shown: 1,
		wanted: 2,
		stored: 3,
		changed: true,
		overtaken: true,
	},
];

for (const { title, shown, wanted, stored, changed, overtaken } of CASES) {
	test(`${title} is ${changed ? "" : "not "}changed and ${overtaken ? "" : "not "}overtaken`, () => {
		const found = compareForm(["days"], {
			shown: { days: shown },
			wanted: { days: wanted },
			stored: { days: stored },
		});
		deepEqual(found, { changed: changed ? ["days"] : [], overtaken: overtaken ? ["days"] : [] });
	});
}
