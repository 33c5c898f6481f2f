// Whether somebody gave their password recently enough to open their account. An old session may be in a browser
// that was left open, or in somebody else's hands.

import { DAY_MS, HOUR_MS } from "../domain/time.ts";

/** A day: whoever signed in today is not asked a second time. */
export const FRESH_SIGN_IN_MS = DAY_MS;
/** An hour: long enough to set up an authenticator and look through the sessions in one visit. */
export const CONFIRMATION_MS = HOUR_MS;

export interface PasswordTimes {
	signedInAtMs: number;
	/** When the password was given again in this session; null for never. */
	confirmedAtMs: number | null;
}

export function isPasswordRecent({ signedInAtMs, confirmedAtMs }: PasswordTimes, nowMs: number): boolean {
	if (nowMs - signedInAtMs < FRESH_SIGN_IN_MS) return true;
	return confirmedAtMs !== null && nowMs - confirmedAtMs < CONFIRMATION_MS;
}
