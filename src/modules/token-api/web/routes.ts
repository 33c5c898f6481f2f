// The routes of the tokens for the APIs of the network and of partners.

import * as paths from "#core/web/paths.ts";
import { form, page, type Route } from "#core/web/routes.ts";
import * as tokens from "./tokens-page.ts";

const PARTNER_API = paths.partnerApiPath(":partnerId");

export const TOKEN_PAGE_ROUTES: readonly Route[] = [
	page(PARTNER_API, "partner", tokens.showTokens),
	form(PARTNER_API, "partner", tokens.issue),
	form(`${PARTNER_API}/:tokenId/revoke`, "partner", tokens.revoke),
	page(paths.NETWORK_TOKENS_PATH, "staff", tokens.showTokens),
	form(paths.NETWORK_TOKENS_PATH, "staff", tokens.issue),
	form(`${paths.NETWORK_TOKENS_PATH}/:tokenId/revoke`, "staff", tokens.revoke),
];
