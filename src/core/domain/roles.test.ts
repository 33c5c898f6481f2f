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

const TABLE: readonly (readonly [Standing, Right, boolean])[] = [
	["owner", "look", true],
	["owner", "integrate", true],
	["owner", "decide", true],
	["owner", "manage", true],
	["developer", "look", true],
	["developer", "integrate", true],
	["developer", "decide", false],
	["developer", "manage", false],
	["viewer", "look", true],
	["viewer", "integrate", false],
	["viewer", "decide", false],
	["viewer", "manage", false],
	["staff", "look", true],
	["staff", "integrate", true],
	["staff", "decide", true],
	["staff", "manage", true],
];

for (const [standing, right, isGranted] of TABLE) {
	test(`${standing}: ${right} is ${isGranted ? "granted" : "not granted"}`, () => {
		assert.equal(grants(standing, right), isGranted);
	});
}

test("every right of every standing is in the table", () => {
	assert.equal(TABLE.length, (PROGRAMME_ROLES.length + 1) * RIGHTS.length);
	assert.equal(new Set(TABLE.map(([standing, right]) => `${standing} ${right}`)).size, TABLE.length);
});

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
