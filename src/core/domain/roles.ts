// Rights of each role in a programme. The access checks of pages, the buttons on pages and the use cases all use this
// table.

/**
 * The side that a person belongs to. "shop" is for people of shops and partners, "staff" for people of the
 * network.
 */
export type PersonKind = "shop" | "staff";

export const PROGRAMME_ROLES = ["owner", "developer", "viewer"] as const;
export type ProgrammeRole = (typeof PROGRAMME_ROLES)[number];

/**
 * Relation of a person to a programme. It is the person's role there, or "staff" for the network's people, who manage
 * all programmes.
 */
export type Standing = ProgrammeRole | "staff";

/**
 * Authority for a change to a programme: a person's standing, or the command line or the service, which may do
 * everything.
 */
export type Authority = Standing | "command line" | "service";

/**
 * The rights that a role can have in a programme.
 *
 *   look: read everything of the programme except values that are computed with its secrets.
 *   integrate: keys, signing secret, Postback URL, tests, sending callbacks again, checking a signature.
 *   decide: everything that moves money. conversions/decide defines which side may make which decision.
 *   manage: people and settings. programmes/programme-terms defines which settings only the network may change.
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

/**
 * The right of an API key. "report" allows sale reports, refunds and reversals. "decide" also allows approvals and
 * rejections.
 */
export type KeyRight = "report" | "decide";

export const KEY_RIGHT_WORDS: Readonly<Record<KeyRight, string>> = {
	report: "reports sales, refunds and reversals",
	decide: "reports, approves and rejects",
};

/**
 * Returns the rights that this authority may give to a key, the default first. Only owners and the command line can give
 * "decide". Refunds and reversals belong to "report" also for developers, because the shop's server reports them
 * (docs/decisions/people.md). Staff can give only "report", because staff decide for the review team while a key
 * decides for the shop.
 */
export function keyRightsOf(authority: Authority): readonly [KeyRight, ...KeyRight[]] {
	return authority === "owner" || authority === "command line" ? ["decide", "report"] : ["report"];
}

/** Setting that says whether the network requires its staff to have an authenticator. */
export type StaffAuthenticator = "optional" | "required";
export const STAFF_AUTHENTICATOR: readonly StaffAuthenticator[] = ["optional", "required"];

/**
 * Returns whether a person must have an authenticator. The setting applies to staff only, because shops
 * decide about their own people.
 */
export function isAuthenticatorRequired(setting: StaffAuthenticator, kind: PersonKind): boolean {
	return setting === "required" && kind === "staff";
}

export function readProgrammeRole(text: string): ProgrammeRole | undefined {
	return PROGRAMME_ROLES.find((role) => role === text);
}

/**
 * Descriptions of the roles for pages and mails. Each one continues a sentence that begins with "This role".
 */
export const ROLE_SUMMARIES: Readonly<Record<ProgrammeRole, string>> = {
	owner: "can do everything, including approving conversions and inviting people",
	developer: "manages keys, the Postback URL and callbacks; cannot approve conversions or invite people",
	viewer: "sees conversions, callbacks, people and settings, and changes nothing",
};
