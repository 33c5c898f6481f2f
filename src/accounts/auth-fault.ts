// What better-auth refuses, as a fault with a sentence that says what to do next.

import { type Fault, fault } from "../domain/fault.ts";
import type { AuthAnswer } from "./auth.ts";

export function wrongCredentials(): Fault {
	return fault("wrong_credentials", "Email and password do not match. Check both, or choose a new password.");
}

export function wrongPassword(): Fault {
	return fault("wrong_password", "This is not your current password. Enter it again.", "currentPassword");
}

export function codeStepOver(): Fault {
	return fault("code_step_over", "This sign-in took too long or too many codes. Begin again.");
}

export function authenticatorNotSetUp(): Fault {
	return fault("authenticator_not_on", "The authenticator is not set up. Begin with your password.");
}

export function notSixDigits(): Fault {
	return fault("wrong_code", "Enter the six digits that the app shows now.", "code");
}

/** It was judged, and was not right. */
export function isWrongCode({ code }: Pick<AuthAnswer, "code">): boolean {
	return code === "INVALID_CODE" || code === "INVALID_BACKUP_CODE";
}

/** Throws for what should never come back: that is a fault of ours, not of the person's. */
export function faultOf({ status, code }: AuthAnswer): Fault {
	// Two at once with the same backup code: the other one was faster.
	if (status === 409) return fault("wrong_code", "This code has just been used. Enter another one.", "code");
	switch (code) {
		case "INVALID_EMAIL":
		case "INVALID_EMAIL_OR_PASSWORD":
			return wrongCredentials();
		case "INVALID_PASSWORD":
			return wrongPassword();
		case "INVALID_CODE":
			return fault(
				"wrong_code",
				"This code is not right. Enter the one your authenticator shows now.",
				"code",
			);
		case "INVALID_BACKUP_CODE":
			return fault("wrong_code", "This is no backup code of yours, or it was used before.", "code");
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
