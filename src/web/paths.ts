// Every address of the pages, written once: links, forms, redirects and the route tables all ask here. The tables
// ask with the parameter's name in place of its value: `integrationPath(":programmeId")`.

export const START_PATH = "/";
export const SIGN_IN_PATH = "/sign-in";
export const CODE_PATH = "/sign-in/code";
export const SIGN_OUT_PATH = "/sign-out";
export const FORGOT_PASSWORD_PATH = "/forgot-password";
export const DOCS_PATH = "/docs";
export const API_REFERENCE_PATH = "/docs/api";
export const PARTNER_DOCS_PATH = "/docs/partners";
/** For whoever runs the service; below it the parts. */
export const OPERATIONS_PATH = "/docs/operations";
export const DOCS_SEARCH_PATH = "/docs/search";
export const PROBLEMS_PATH = "/problems";
/** What shops install, and below it the files. */
export const DOWNLOADS_PATH = "/downloads";

export const ACCOUNT_PATH = "/account";
/** Where the authenticator is set up. */
export const AUTHENTICATOR_PATH = "/account/authenticator";

export const PROGRAMMES_PATH = "/programmes";
export const CREATE_PROGRAMME_PATH = "/programmes/new";
/** Those of all programmes, for staff. */
export const ALL_CONVERSIONS_PATH = "/conversions";
/** Of the whole network. */
export const TOTALS_PATH = "/totals";
/** Who brings sales, for staff. */
export const PARTNERS_PATH = "/partners";
export const PARTNER_TOTALS_PATH = "/partners/totals.csv";
export const STAFF_PATH = "/people";
export const NETWORK_PATH = "/network";
export const LOGO_PATH = "/network/logo";
export const REMOVE_LOGO_PATH = "/network/logo/remove";
export const TEST_MAIL_PATH = "/network/test-mail";
/** How the installation does. */
export const SYSTEM_PATH = "/system";
export const HOLD_PATH = "/system/hold";
export const RESEND_PATH = "/system/resend";
export const AUDIT_PATH = "/system/audit";
export const AUDIT_EXPORT_PATH = "/system/audit.csv";
/** Where files from other software are uploaded, below it a page for each kind of file. */
export const IMPORT_PATH = "/import";
/** Forms of the set-up, which is a part of the network's page. */
export const END_SET_UP_PATH = "/set-up/end";
export const SAMPLE_PROGRAMME_PATH = "/set-up/sample";

export const operationsPath = (part: string) =>
	part === "" ? OPERATIONS_PATH : `${OPERATIONS_PATH}/${part}`;

/** What a code of a refusal means: where the `type` of the API's problems leads. */
export const problemPath = (code: string) => `${PROBLEMS_PATH}/${code}`;

export const overviewPath = (programmeId: string) => `/programmes/${programmeId}/overview`;
export const conversionsPath = (programmeId: string) => `/programmes/${programmeId}/conversions`;
export const integrationPath = (programmeId: string) => `/programmes/${programmeId}/integration`;
export const noticesPath = (programmeId: string) => `${overviewPath(programmeId)}#notices`;
export const peoplePath = (programmeId: string) => `/programmes/${programmeId}/people`;
export const settingsPath = (programmeId: string) => `/programmes/${programmeId}/settings`;

/** A programme's own; below it one of its partners, and what the programme says to them all. */
export const programmePartnersPath = (programmeId: string) => `/programmes/${programmeId}/partners`;
export const programmePartnerPath = (programmeId: string, partnershipId: string) =>
	`${programmePartnersPath(programmeId)}/${partnershipId}`;
export const partnerSettingsPath = (programmeId: string) => `${programmePartnersPath(programmeId)}/settings`;
/** Where strangers apply as partners. */
export const joinPath = (programmeId: string) => `/join/${programmeId}`;

export const conversionPath = (programmeId: string, conversionId: string) =>
	`${conversionsPath(programmeId)}/${conversionId}`;
/** Where decisions are uploaded as a file. */
export const bulkPath = (programmeId: string) => `${conversionsPath(programmeId)}/bulk`;
export const bulkJobPath = (programmeId: string, jobId: string) => `${bulkPath(programmeId)}/${jobId}`;

/** A partner's own pages; the last for staff. */
export const earningsPath = (partnerId: string) => `/partner/${partnerId}/earnings`;
export const partnerLinksPath = (partnerId: string) => `/partner/${partnerId}/links`;
export const partnerConversionsPath = (partnerId: string) => `/partner/${partnerId}/conversions`;
export const partnerPeoplePath = (partnerId: string) => `/partner/${partnerId}/people`;

/** Of the four tabs of Integration the first is `integrationPath`. */
export const keysPath = (programmeId: string) => `${integrationPath(programmeId)}/keys`;
export const inboundPath = (programmeId: string) => `${integrationPath(programmeId)}/inbound`;
export const signaturePath = (programmeId: string) => `${integrationPath(programmeId)}/signature`;
export const deliveryPath = (programmeId: string, deliveryId: string) =>
	`/programmes/${programmeId}/deliveries/${deliveryId}`;

export const importKindPath = (kind: string) => `${IMPORT_PATH}/${kind}`;
export const importJobPath = (jobId: string) => `${IMPORT_PATH}/jobs/${jobId}`;

/** A one-time link. */
export const welcomePath = (token: string) => `/welcome/${token}`;

/** With where to go on afterwards; the page that is led to checks that it is ours. */
export function withNext(path: string, next: string): string {
	return next === "" ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/** A path with the parameters that are not undefined. An empty one may say something. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
	const set = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
	return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}

/** Only paths of our own: whoever writes a link must not choose where people land after signing in. */
export function ownPath(text: string | undefined): string | null {
	if (text === undefined || text.includes("\\") || /\p{Cc}/u.test(text)) return null;
	// Two slashes at the start would name another host, and browsers take a backslash for a slash.
	return /^\/(?!\/)/.test(text) ? text : null;
}
