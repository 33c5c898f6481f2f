// TLS sessions to resume, so that a shop that hears from us now and then does not cost a full handshake each
// time: 1.0 against 1.45 ms of this process.
//
// Resuming skips the check of the certificate, its name included. So a session serves only the name and the
// address it was made with (a route's key has both), and not for ever.

import { HOUR_MS } from "../domain/time.ts";

export interface Sessions {
	recall(key: string): Buffer | undefined;
	remember(key: string, ticket: Buffer, wasResumed: boolean): void;
	/** After a handshake that failed: should the session be to blame, the next one is a full handshake. */
	forget(key: string): void;
}

/** A few KB each. A shop that falls out pays one full handshake. */
const MAX_SESSIONS = 1_000;
/** A certificate that expired is noticed after an hour at the latest, however much is delivered. */
const MAX_AGE_MS = HOUR_MS;

export function createSessions(): Sessions {
	const sessions = new Map<string, { ticket: Buffer; checkedAtMs: number }>();

	return {
		recall(key) {
			const session = sessions.get(key);
			if (session === undefined) return undefined;
			if (performance.now() - session.checkedAtMs < MAX_AGE_MS) return session.ticket;
			sessions.delete(key);
			return undefined;
		},
		remember(key, ticket, wasResumed) {
			// A resumed connection brings new tickets, but its certificate was looked at when the first was made.
			const checkedAtMs = wasResumed ? sessions.get(key)?.checkedAtMs : performance.now();
			if (checkedAtMs === undefined) return;
			sessions.delete(key);
			if (sessions.size >= MAX_SESSIONS) {
				const oldest = sessions.keys().next();
				if (!oldest.done) sessions.delete(oldest.value);
			}
			sessions.set(key, { ticket, checkedAtMs });
		},
		forget(key) {
			sessions.delete(key);
		},
	};
}
