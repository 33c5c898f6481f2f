// The rights of each role in a programme, in one table. The guards of pages, the buttons on pages and the use cases all ask
// this table.

/** People of shops and partners are "shop". People of the network are "staff". */
export type PersonKind = "shop" | "staff";

/** Roles of a shop's people in one programme. */
export const PROGRAMME_ROLES = ["owner", "developer", "viewer"] as const;
export type ProgrammeRole = (typeof PROGRAMME_ROLES)[number];

/** A person's position in a programme: their role there, or staff, who look after all programmes. */
export type Standing = ProgrammeRole | "staff";

/** The authority behind a change to a programme: a person's standing, or a party that needs none and may do everything. */
export type Authority = Standing | "command line" | "service";

/**
 * look: read everything of the programme except what is computed with its secrets.
 * integrate: keys, signing secret, Postback URL, tests, sending callbacks again, checking a signature.
 * decide: everything that moves money. conversions/decide says which side may make which decision.
 * manage: people and settings. programmes/programme-terms says which settings only the network may change.
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

/** A key with "report" reports sales and reversals. A key with "decide" also approves and rejects. */
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

/** Setting that says whether the network requires its staff to have an authenticator. */
export type StaffAuthenticator = "optional" | "required";
export const STAFF_AUTHENTICATOR: readonly StaffAuthenticator[] = ["optional", "required"];

/** The setting applies to staff only. Shops decide about their own people. */
export function isAuthenticatorRequired(setting: StaffAuthenticator, kind: PersonKind): boolean {
	return setting === "required" && kind === "staff";
}

/** Returns undefined if the text is not a role. */
export function readProgrammeRole(text: string): ProgrammeRole | undefined {
	return PROGRAMME_ROLES.find((role) => role === text);
}

/** Descriptions that continue a sentence such as "This role …", for pages and mails. */
export const ROLE_SUMMARIES: Readonly<Record<ProgrammeRole, string>> = {
	owner: "can do everything, including approving conversions and inviting people",
	developer: "manages keys, the Postback URL and callbacks; cannot approve conversions or invite people",
	viewer: "sees conversions, callbacks, people and settings, and changes nothing",
};
