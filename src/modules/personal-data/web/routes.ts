// The routes of the pages about personal data and its erasure.

import * as paths from "#core/web/paths.ts";
import { form, page, type Route } from "#core/web/routes.ts";
import { showErasures } from "./erasures-page.ts";
import * as partnerData from "./partner-page.ts";
import * as personData from "./person-page.ts";

const PARTNER_DATA = paths.partnerDataPath(":partnerId");
const PERSON_DATA = paths.personDataPath(":personId");

export const PERSONAL_DATA_ROUTES: readonly Route[] = [
	form(paths.OWN_DATA_PATH, "signed-in", personData.downloadOwnData),
	page(paths.PERSONAL_DATA_PATH, "staff", showErasures),
	page(PERSON_DATA, "staff", personData.showPersonData),
	form(`${PERSON_DATA}/export`, "staff", personData.downloadPersonData),
	form(`${PERSON_DATA}/erase`, "staff", personData.erasePersonData),
	page(PARTNER_DATA, "partner-manage", partnerData.showPartnerData),
	form(`${PARTNER_DATA}/export`, "partner-manage", partnerData.downloadPartnerData),
	form(`${PARTNER_DATA}/erase`, "partner-manage", partnerData.erasePartnerData),
];
