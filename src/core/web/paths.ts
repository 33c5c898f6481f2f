// Defines every address of the site. Links, forms, redirects and the table of routes use these addresses. The table of
// routes passes the name of a parameter instead of a value, such as `integrationPath(":programmeId")`.

export const START_PATH = "/";
export const SIGN_IN_PATH = "/sign-in";
export const CODE_PATH = "/sign-in/code";
/** Start of a sign-in with the company's account, which leads to the provider. */
export const COMPANY_SIGN_IN_PATH = "/sign-in/company";
/** Address to which the provider sends the browser back. Operators register it at the provider. */
export const COMPANY_RETURN_PATH = "/sign-in/company/return";
export const SIGN_OUT_PATH = "/sign-out";
export const FORGOT_PASSWORD_PATH = "/forgot-password";
/** Start of the documentation, which asks who the reader is. */
export const DOCS_PATH = "/docs";
export const WORDS_PATH = "/docs/words";
export const QUICK_START_PATH = "/docs/quick-start";
export const REPORT_SALES_PATH = "/docs/report-sales";
export const ORDER_TO_MONEY_PATH = "/docs/order-to-money";
export const CLICK_IDS_PATH = "/docs/click-ids";
export const CALLBACK_FORMAT_PATH = "/docs/callbacks";
export const RULES_PATH = "/docs/rules";
export const RETRIES_PATH = "/docs/retries";
export const PIXEL_PATH = "/docs/pixel";
export const TROUBLESHOOTING_PATH = "/docs/troubleshooting";
export const GO_LIVE_PATH = "/docs/go-live";
export const API_REFERENCE_PATH = "/docs/api";
export const LIBRARY_PATH = "/docs/library";
export const VENDURE_PATH = "/docs/vendure";
export const OWNER_GUIDE_PATH = "/docs/owner";
export const PARTNER_GUIDE_PATH = "/docs/partner";
export const PARTNER_CALLBACKS_GUIDE_PATH = "/docs/partner-callbacks";
export const PROGRAMME_PARTNERS_GUIDE_PATH = "/docs/partners";
export const MANAGER_GUIDE_PATH = "/docs/manager";
export const NETWORK_API_DOCS_PATH = "/docs/network-api";
export const PARTNER_API_DOCS_PATH = "/docs/partner-api";
/** First page of the operations guide for staff. The other parts of the guide have addresses below it. */
export const OPERATIONS_PATH = "/docs/operations";
export const DOCS_SEARCH_PATH = "/docs/search";
export const PROBLEMS_PATH = "/problems";
/** Page of the packages that shops install. The package files have addresses below it. */
export const DOWNLOADS_PATH = "/downloads";
/**
 * Index of the public documentation for programs, and the whole documentation as one text. See https://llmstxt.org.
 */
export const LLMS_INDEX_PATH = "/llms.txt";
export const LLMS_FULL_PATH = "/llms-full.txt";
export const ROBOTS_PATH = "/robots.txt";

export const ACCOUNT_PATH = "/account";
export const AUTHENTICATOR_PATH = "/account/authenticator";

export const PROGRAMMES_PATH = "/programmes";
export const CREATE_PROGRAMME_PATH = "/programmes/new";
/** Form that issues API keys for many programmes, for staff. */
export const MANY_KEYS_PATH = "/programmes/keys";
/** List of the conversions of all programmes, for staff. */
export const ALL_CONVERSIONS_PATH = "/conversions";
/** Totals of the whole network, for staff. */
export const TOTALS_PATH = "/totals";
/** List of all partners, for staff. */
export const PARTNERS_PATH = "/partners";
export const PARTNER_TOTALS_PATH = "/partners/totals.csv";
/** List of all statements, for staff. */
export const STATEMENTS_PATH = "/statements";
/** Page on which the bank's list of payments is uploaded. */
export const PAYMENTS_PATH = "/statements/payments";
export const PAYOUT_FILE_PATH = "/statements/payouts.csv";
export const STAFF_PATH = "/people";
export const NETWORK_PATH = "/network";
export const LOGO_PATH = "/network/logo";
export const REMOVE_LOGO_PATH = "/network/logo/remove";
/** Page with the API tokens of the network. */
export const NETWORK_TOKENS_PATH = "/network/tokens";
export const TEST_MAIL_PATH = "/network/test-mail";
/** Form with the network's settings for statements. */
export const PAYOUT_SETTINGS_PATH = "/network/payouts";
/** Page about the health of the installation. */
export const SYSTEM_PATH = "/system";
export const HOLD_PATH = "/system/hold";
export const RESEND_PATH = "/system/resend";
export const AUDIT_PATH = "/system/audit";
export const AUDIT_EXPORT_PATH = "/system/audit.csv";
/** Page with the erasures. The pages of single people have addresses below it. */
export const PERSONAL_DATA_PATH = "/system/personal-data";
/** Start of the import from other software. Each kind of file has a page below it. */
export const IMPORT_PATH = "/import";
/** Form that ends the set-up. The set-up itself is part of the network's page. */
export const END_SET_UP_PATH = "/set-up/end";
export const SAMPLE_PROGRAMME_PATH = "/set-up/sample";

/** Form that downloads a person's own data. */
export const OWN_DATA_PATH = "/account/data";

export const operationsPath = (part: string) =>
	part === "" ? OPERATIONS_PATH : `${OPERATIONS_PATH}/${part}`;

/**
 * Returns the address of the page that explains a fault code. The API returns this address as `type` of a
 * problem.
 */
export const problemPath = (code: string) => `${PROBLEMS_PATH}/${code}`;

export const overviewPath = (programmeId: string) => `/programmes/${programmeId}/overview`;
export const conversionsPath = (programmeId: string) => `/programmes/${programmeId}/conversions`;
export const integrationPath = (programmeId: string) => `/programmes/${programmeId}/integration`;
export const noticesPath = (programmeId: string) => `${overviewPath(programmeId)}#notices`;
export const peoplePath = (programmeId: string) => `/programmes/${programmeId}/people`;
export const settingsPath = (programmeId: string) => `/programmes/${programmeId}/settings`;

/**
 * Returns the address of a programme's partners. The pages of each partner and the settings have addresses
 * below it.
 */
export const programmePartnersPath = (programmeId: string) => `/programmes/${programmeId}/partners`;
export const programmePartnerPath = (programmeId: string, partnershipId: string) =>
	`${programmePartnersPath(programmeId)}/${partnershipId}`;
export const partnerSettingsPath = (programmeId: string) => `${programmePartnersPath(programmeId)}/settings`;
/** Returns the address of the public page on which partners apply. */
export const joinPath = (programmeId: string) => `/join/${programmeId}`;

export const conversionPath = (programmeId: string, conversionId: string) =>
	`${conversionsPath(programmeId)}/${conversionId}`;
/** Returns the address of the page on which a file with decisions is uploaded. */
export const bulkPath = (programmeId: string) => `${conversionsPath(programmeId)}/bulk`;
export const bulkJobPath = (programmeId: string, jobId: string) => `${bulkPath(programmeId)}/${jobId}`;

/** Returns the address of a partner's earnings, which is the start page of a partner. */
export const earningsPath = (partnerId: string) => `/partner/${partnerId}/earnings`;
export const partnerLinksPath = (partnerId: string) => `/partner/${partnerId}/links`;
export const partnerConversionsPath = (partnerId: string) => `/partner/${partnerId}/conversions`;
/** Returns the address of a partner's statements. Each statement has an address below it. */
export const partnerStatementsPath = (partnerId: string) => `/partner/${partnerId}/statements`;
export const statementPath = (partnerId: string, statementId: string) =>
	`${partnerStatementsPath(partnerId)}/${statementId}`;
/** Returns the address of the list of all entries in a partner's account. */
export const entriesPath = (partnerId: string) => `/partner/${partnerId}/entries`;
export const paymentDetailsPath = (partnerId: string) => `/partner/${partnerId}/payment-details`;
/** Returns the address of the list of programmes for which a partner can apply. */
export const openProgrammesPath = (partnerId: string) => `/partner/${partnerId}/programmes`;
/** Returns the address of the page on which a partner applies for a programme. */
export const partnerApplyPath = (partnerId: string, programmeId: string) =>
	`${openProgrammesPath(partnerId)}/${programmeId}`;
/** Returns the address of the page with a partner's API tokens. */
export const partnerApiPath = (partnerId: string) => `/partner/${partnerId}/api`;
export const partnerPeoplePath = (partnerId: string) => `/partner/${partnerId}/people`;
/** Returns the address of a partner's callbacks, which has the same parts as the Integration page of a shop. */
export const partnerCallbacksPath = (partnerId: string) => `/partner/${partnerId}/callbacks`;
export const partnerSignaturePath = (partnerId: string) => `${partnerCallbacksPath(partnerId)}/signature`;
export const partnerDeliveryPath = (partnerId: string, deliveryId: string) =>
	`/partner/${partnerId}/deliveries/${deliveryId}`;

/** Returns the address of the second tab of Integration. The first tab is at `integrationPath`. */
export const keysPath = (programmeId: string) => `${integrationPath(programmeId)}/keys`;
export const inboundPath = (programmeId: string) => `${integrationPath(programmeId)}/inbound`;
export const signaturePath = (programmeId: string) => `${integrationPath(programmeId)}/signature`;
export const deliveryPath = (programmeId: string, deliveryId: string) =>
	`/programmes/${programmeId}/deliveries/${deliveryId}`;

/** Page that asks whether a programme is to be archived, for staff. */
export const archiveProgrammePath = (programmeId: string) => `/archive/${programmeId}`;
export const archivePartnerPath = (partnerId: string) => `/partner/${partnerId}/archive`;

/** Returns the address of the page on which staff export and erase the data of a person or a partner. */
export const personDataPath = (personId: string) => `${PERSONAL_DATA_PATH}/${personId}`;
export const partnerDataPath = (partnerId: string) => `/partner/${partnerId}/personal-data`;

export const importKindPath = (kind: string) => `${IMPORT_PATH}/${kind}`;
export const importJobPath = (jobId: string) => `${IMPORT_PATH}/jobs/${jobId}`;

/** Returns the address of a job that issues statements or marks them as paid. */
export const statementJobPath = (jobId: string) => `${STATEMENTS_PATH}/jobs/${jobId}`;

/** Returns the address of a one-time link. */
export const welcomePath = (token: string) => `/welcome/${token}`;

/**
 * Adds the path that is opened after the sign-in. The sign-in page checks that this path belongs to our site.
 */
export function withNext(path: string, next: string): string {
	return next === "" ? path : `${path}?next=${encodeURIComponent(next)}`;
}

/**
 * Adds a query to a path. Undefined values are omitted, but empty ones are not, because they may have a
 * meaning.
 */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
	const set = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined);
	return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`;
}

/**
 * Returns the text if it is a path of our own site, and null otherwise. A sign-in must never redirect to
 * another site.
 */
export function ownPath(text: string | undefined): string | null {
	if (text === undefined || text.includes("\\") || /\p{Cc}/u.test(text)) return null;
	// Two slashes at the start would name another host. Browsers treat a backslash like a slash.
	return /^\/(?!\/)/.test(text) ? text : null;
}
