// What better-auth refuses, with a sentence that says what to do next.

import { refuse } from "../domain/fault.ts";
import type { AuthAnswer } from "./auth.ts";

type Refusal = ReturnType<typeof refuse>;

export function wrongCredentials(): Refusal {
	return refuse(
		"wrong_credentials",
		"Email and password do not match. Check both, or choose a new password.",
	);
}

export function wrongPassword(): Refusal {
	return refuse("wrong_password", "This is not your current password. Enter it again.", "currentPassword");
}

export function codeStepOver(): Refusal {
	return refuse("code_step_over", "This sign-in took too long or too many codes. Start over.");
}

export function authenticatorNotSetUp(): Refusal {
	return refuse("authenticator_not_on", "The authenticator is not set up. Enter your password to start.");
}

/** It was judged, and was not right. */
export function isWrongCode({ code }: Pick<AuthAnswer, "code">): boolean {
	return code === "INVALID_CODE" || code === "INVALID_BACKUP_CODE";
}

/** Throws for what should never come back: that is a fault of ours, not of the person's. */
export function refusalOf({ status, code }: AuthAnswer): Refusal {
	// Two at once with the same backup code: the other one was faster.
	if (status === 409) return refuse("wrong_code", "This code has just been used. Enter another one.", "code");
	switch (code) {
		case "INVALID_EMAIL":
		case "INVALID_EMAIL_OR_PASSWORD":
			return wrongCredentials();
		case "INVALID_PASSWORD":
			return wrongPassword();
		case "INVALID_CODE":
			return refuse(
				"wrong_code",
				"This code is not right. Enter the one your authenticator shows now.",
				"code",
			);
		case "INVALID_BACKUP_CODE":
			return refuse("wrong_code", "This is not one of your backup codes, or it was used before.", "code");
		case "TOO_MANY_ATTEMPTS_REQUEST_NEW_CODE":
		case "INVALID_TWO_FACTOR_COOKIE":
			return codeStepOver();
		case "TOTP_NOT_ENABLED":
		case "BACKUP_CODES_NOT_ENABLED":
		case "TWO_FACTOR_NOT_ENABLED":
			return authenticatorNotSetUp();
		default:
			throw new Error(`better-auth refused with ${status} ${code ?? "and no code"}`);
	}
}
