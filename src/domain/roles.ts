// Who may do what in a programme: one closed table. Everything else asks it: the guard before each page, the page that
// offers a button, the use case that hands something out.

/** Whose people somebody is: a shop's, or the network's own. */
export type PersonKind = "shop" | "staff";

/** What somebody of a shop is in one programme. */
export const PROGRAMME_ROLES = ["owner", "developer", "viewer"] as const;
export type ProgrammeRole = (typeof PROGRAMME_ROLES)[number];

/** What somebody is to a programme: one of its people, or staff, who look after all of them. */
export type Standing = ProgrammeRole | "staff";

/** The authority behind a change to a programme: a person's standing, or a party that needs none and may do everything. */
export type Authority = Standing | "command line" | "service";

/**
 * look: read everything of the programme but what is made of its secrets.
 * integrate: keys, signing secret, Postback URL, tests, sending callbacks again, checking a signature.
 * decide: whatever moves money. Which decisions are whose is a question of the side: see conversions/decide.
 * manage: people and settings. Which settings are the network's is judged in programmes/programme-terms.
 */
export const RIGHTS = ["look", "integrate", "decide", "manage"] as const;
export type Right = (typeof RIGHTS)[number];

const GRANTED: Readonly<Record<Standing, readonly Right[]>> = {
	owner: RIGHTS,
	developer: ["look", "integrate"],
	viewer: ["look"],
	staff: RIGHTS,
};

export function grants(standing: Standing, right: Right): boolean {
	return GRANTED[standing].includes(right);
}

/** What an API key is good for: sales and reversals, or approvals and rejections, too. */
export type KeyRight = "report" | "decide";

export const KEY_RIGHT_WORDS: Readonly<Record<KeyRight, string>> = {
	report: "reports sales and reversals",
	decide: "reports, approves and rejects",
};

/**
 * Returns the rights that a key may have if this authority issues it, the default first. Nobody can pass on more than they
 * may do themselves. Staff get "report" only, because they decide for the review team and a key decides for the shop.
 */
export function keyRightsOf(authority: Authority): readonly [KeyRight, ...KeyRight[]] {
	return authority === "owner" || authority === "command line" ? ["decide", "report"] : ["report"];
}

/** Whether the network asks its own people to have an authenticator: a setting. */
export type StaffAuthenticator = "optional" | "required";
export const STAFF_AUTHENTICATOR: readonly StaffAuthenticator[] = ["optional", "required"];

/** Shops decide for themselves about their people. */
export function isAuthenticatorRequired(setting: StaffAuthenticator, kind: PersonKind): boolean {
	return setting === "required" && kind === "staff";
}

/** Undefined for what is no role. */
export function readProgrammeRole(text: string): ProgrammeRole | undefined {
	return PROGRAMME_ROLES.find((role) => role === text);
}

/** Each in half a sentence, for the page that offers them and the mail that invites. */
export const ROLE_SUMMARIES: Readonly<Record<ProgrammeRole, string>> = {
	owner: "can do everything, including approving conversions and inviting people",
	developer: "manages keys, the Postback URL and callbacks; cannot approve conversions or invite people",
	viewer: "sees conversions, callbacks, people and settings, and changes nothing",
};
