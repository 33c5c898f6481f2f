import { equal } from "node:assert/strict";
import { test } from "node:test";
import { isAuthenticatorRequired } from "./staff-authenticator.ts";

for (const [setting, role, isRequired] of [
	["optional", "staff", false],
	["optional", "owner", false],
	["required", "staff", true],
	["required", "owner", false],
] as const) {
	test(`${setting}, for ${role}: ${isRequired ? "must have one" : "may have one"}`, () => {
		equal(isAuthenticatorRequired(setting, role), isRequired);
	});
}
