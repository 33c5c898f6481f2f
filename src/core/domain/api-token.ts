// API tokens, with which programs of the network and of partners read and administer. A token is a bearer token. The
// signed API of shops uses API keys instead.

/**
 * Rights of a token. "read" and "manage" are rights of the network's tokens, and "manage" includes "read". A
 * partner's token has the right "partner": it reads the partner's own data and creates links.
 */
export const TOKEN_RIGHTS = ["read", "manage", "partner"] as const;
export type TokenRight = (typeof TOKEN_RIGHTS)[number];

/** The rights that a network token can have, the default first. */
export const NETWORK_TOKEN_RIGHTS = ["read", "manage"] as const satisfies readonly TokenRight[];

export const TOKEN_RIGHT_WORDS: Readonly<Record<TokenRight, string>> = {
	read: "reads everything",
	manage: "reads and changes everything",
	partner: "reads the partner's data and creates links",
};

/** Returns whether a token with the right `granted` may make a call that needs the right `needed`. */
export function tokenGrants(granted: TokenRight, needed: TokenRight): boolean {
	return granted === needed || (granted === "manage" && needed === "read");
}

export function isExpired(
	{ expires_at_ms: expiresAtMs }: { expires_at_ms: number | null },
	nowMs: number,
): boolean {
	return expiresAtMs !== null && expiresAtMs <= nowMs;
}

/** Number of random bytes of a token. 256 bits cannot be guessed, so a plain hash is enough for the stored form. */
export const TOKEN_BYTES = 32;

const TOKEN_FORM = /^rb[np]_[0-9a-f]{64}$/;

/** Returns whether the text has the form of a token. The caller need not look up any other text. */
export function isTokenForm(text: string): boolean {
	return TOKEN_FORM.test(text);
}

/** Returns the first characters of a token, which say whether it belongs to the network or to a partner. */
export function tokenPrefix(right: TokenRight): "rbn" | "rbp" {
	return right === "partner" ? "rbp" : "rbn";
}

export interface TokenLabel {
	token_right: TokenRight;
	hint: string;
	name: string;
}

export function showToken({ token_right, hint }: Pick<TokenLabel, "token_right" | "hint">): string {
	return `${tokenPrefix(token_right)}_…${hint}`;
}

/** Returns the label of a token in the audit log, such as "rbn_…1a2b Portal". */
export function writeTokenLabel(token: TokenLabel): string {
	return `${showToken(token)} ${token.name}`;
}
