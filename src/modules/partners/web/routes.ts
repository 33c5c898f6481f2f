// The routes of partners: those of staff and of programmes, and a partner's own pages.

import { assign } from "#core/web/conversions/conversion-page.ts";
import * as deliveries from "#core/web/integration/deliveries-section.ts";
import * as delivery from "#core/web/integration/delivery-page.ts";
import { changeSecret } from "#core/web/integration/secret-section.ts";
import * as signature from "#core/web/integration/signature-page.ts";
import * as paths from "#core/web/paths.ts";
import { showPeople } from "#core/web/people/people-page.ts";
import { form, page, type Route } from "#core/web/routes.ts";
import { sendPartnerApplication, showPartnerApplication } from "./apply-page.ts";
import * as archivePartner from "./archive-page.ts";
import * as partnerCallbacks from "./callbacks-page.ts";
import * as credited from "./credited-page.ts";
import * as earnings from "./earnings-page.ts";
import * as join from "./join-page.ts";
import * as links from "./links-page.ts";
import { showOpenProgrammes } from "./open-programmes-page.ts";
import * as partners from "./partner-list-page.ts";
import * as partnership from "./partnership-page.ts";
import * as people from "./people-page.ts";
import * as programmePartners from "./programme-partners-page.ts";
import * as partnerSettings from "./settings-page.ts";
import { WAITING_ADDRESSES_PATH } from "./waiting-addresses.ts";

const PARTNERS = paths.programmePartnersPath(":programmeId");
const PROGRAMME_PARTNER = paths.programmePartnerPath(":programmeId", ":partnershipId");
const ARCHIVE_PARTNER = paths.archivePartnerPath(":partnerId");
const PARTNER_SETTINGS = paths.partnerSettingsPath(":programmeId");
const JOIN = paths.joinPath(":programmeId");
const PARTNER_EARNINGS = paths.earningsPath(":partnerId");
const PARTNER_PEOPLE = paths.partnerPeoplePath(":partnerId");
const PARTNER_LINKS = paths.partnerLinksPath(":partnerId");
const PARTNER_CONVERSIONS = paths.partnerConversionsPath(":partnerId");
const PARTNER_CALLBACKS = paths.partnerCallbacksPath(":partnerId");
const PARTNER_SIGNATURE = paths.partnerSignaturePath(":partnerId");
const PARTNER_DELIVERY = paths.partnerDeliveryPath(":partnerId", ":deliveryId");

export const PARTNER_ROUTES: readonly Route[] = [
	// The list of all partners, for staff.
	page(paths.PARTNERS_PATH, "staff", partners.showPartners),
	form(`${paths.PARTNERS_PATH}/invite`, "staff", partners.invite),
	page(paths.PARTNER_TOTALS_PATH, "staff", partners.exportTotals),
	form(WAITING_ADDRESSES_PATH, "staff", partners.answerAddress),
	// A programme's partners, its settings for partners, and the public page on which partners apply.
	page(PARTNERS, "programme", programmePartners.showProgrammePartners),
	form(`${PARTNERS}/applications/decline-all`, "programme-manage", programmePartners.declineSeen),
	form(`${PARTNERS}/applications/:applicationId`, "programme-manage", programmePartners.answer),
	page(PARTNER_SETTINGS, "programme-manage", partnerSettings.showPartnerSettings),
	form(PARTNER_SETTINGS, "programme-manage", partnerSettings.savePartnerSettings),
	page(PROGRAMME_PARTNER, "programme", partnership.showPartnership),
	form(PROGRAMME_PARTNER, "programme-manage", partnership.save),
	form(`${PROGRAMME_PARTNER}/change`, "programme-manage", partnership.change),
	page(JOIN, "anyone", join.showJoin),
	form(JOIN, "anyone", join.sendApplication),
	// The partner of a conversion, which staff change.
	form(`${paths.ALL_CONVERSIONS_PATH}/:conversionId/partner`, "staff", assign),
	// A partner's own pages with earnings, links and conversions. Staff also add a partner to programmes,
	// invite its people, and end its partnerships.
	page(PARTNER_EARNINGS, "partner", earnings.showEarnings),
	form(`${PARTNER_EARNINGS}/add`, "partner-manage", earnings.addProgramme),
	form(`${PARTNER_EARNINGS}/name`, "partner-manage", earnings.rename),
	form(`${PARTNER_EARNINGS}/end`, "partner-manage", earnings.endAllPartnerships),
	page(ARCHIVE_PARTNER, "partner-manage", archivePartner.askToArchive),
	form(ARCHIVE_PARTNER, "partner-manage", archivePartner.archive),
	form(`${ARCHIVE_PARTNER}/resume`, "partner-manage", archivePartner.resume),
	page(PARTNER_LINKS, "partner", links.showLinks),
	form(PARTNER_LINKS, "partner", links.makeOwnLink),
	page(PARTNER_CONVERSIONS, "partner", credited.showCredited),
	page(`${PARTNER_CONVERSIONS}/export.csv`, "partner", credited.exportCredited),
	// Callbacks to a partner. Lists, resends, secrets and the check of a signature are those of a shop.
	page(PARTNER_CALLBACKS, "partner", (c, deps) => partnerCallbacks.showPartnerCallbacks(c, deps)),
	{ ...form(`${PARTNER_CALLBACKS}/url`, "partner", partnerCallbacks.saveUrl), waitsOutside: true },
	form(`${PARTNER_CALLBACKS}/url/remove`, "partner", partnerCallbacks.removeUrl),
	form(`${PARTNER_CALLBACKS}/test`, "partner", partnerCallbacks.sendTest),
	form(`${PARTNER_CALLBACKS}/resend-failed`, "partner", deliveries.resendAllFailed),
	form(`${PARTNER_CALLBACKS}/resend`, "partner", deliveries.resendTicked),
	form(`${PARTNER_CALLBACKS}/send-waiting`, "partner", deliveries.sendWaiting),
	form(`${PARTNER_CALLBACKS}/set-aside`, "partner", deliveries.setPartnerFailuresAside),
	form(`${PARTNER_CALLBACKS}/secret`, "partner", partnerCallbacks.issueNextSecret),
	form(`${PARTNER_CALLBACKS}/secret/activate`, "partner", changeSecret("activate")),
	form(`${PARTNER_CALLBACKS}/secret/discard`, "partner", changeSecret("discard")),
	form(`${PARTNER_CALLBACKS}/secret/end`, "partner", changeSecret("end")),
	page(PARTNER_SIGNATURE, "partner", signature.showSignatureForm),
	form(PARTNER_SIGNATURE, "partner", signature.checkPasted),
	page(PARTNER_DELIVERY, "partner", delivery.showDelivery),
	form(`${PARTNER_DELIVERY}/resend`, "partner", deliveries.resendOne),
	page(paths.openProgrammesPath(":partnerId"), "partner", showOpenProgrammes),
	page(paths.partnerApplyPath(":partnerId", ":programmeId"), "partner", showPartnerApplication),
	form(paths.partnerApplyPath(":partnerId", ":programmeId"), "partner", sendPartnerApplication),
	page(PARTNER_PEOPLE, "partner", showPeople),
	form(`${PARTNER_PEOPLE}/invite`, "partner", people.invite),
	form(`${PARTNER_PEOPLE}/:personId/link`, "partner", people.renewLink),
	form(`${PARTNER_PEOPLE}/:personId/remove`, "partner", people.removePerson),
];
