import assert from "node:assert/strict";
import { test } from "node:test";
import {
	grants,
	isAuthenticatorRequired,
	PROGRAMME_ROLES,
	RIGHTS,
	type Right,
	readProgrammeRole,
	type Standing,
} from "./roles.ts";

const TABLE: Readonly<Record<Standing, Readonly<Record<Right, boolean>>>> = {
	owner: { look: true, integrate: true, decide: true, manage: true },
	developer: { look: true, integrate: true, decide: false, manage: false },
	viewer: { look: true, integrate: false, decide: false, manage: false },
	staff: { look: true, integrate: true, decide: true, manage: true },
};

for (const standing of [...PROGRAMME_ROLES, "staff"] as const) {
	for (const right of RIGHTS) {
		const isGranted = TABLE[standing][right];
		test(`${standing}: ${right} is ${isGranted ? "granted" : "not granted"}`, () => {
			assert.equal(grants(standing, right), isGranted);
		});
	}
}

test("staff is not a role in a programme, and a role is recognized only in its exact spelling", () => {
	assert.deepEqual(PROGRAMME_ROLES.map(readProgrammeRole), [...PROGRAMME_ROLES]);
	for (const text of ["staff", "Owner", " owner", "", "toString"])
		assert.equal(readProgrammeRole(text), undefined);
});

for (const [setting, kind, isRequired] of [
	["optional", "staff", false],
	["optional", "shop", false],
	["required", "staff", true],
	["required", "shop", false],
] as const) {
	test(`${setting}, for ${kind}: ${isRequired ? "must have one" : "may have one"}`, () => {
		assert.equal(isAuthenticatorRequired(setting, kind), isRequired);
	});
}
