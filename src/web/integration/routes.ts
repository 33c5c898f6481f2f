// What a shop's developer works with: the set-up, the logs of both directions, the check of signatures, a delivery.

import { deliveryPath, inboundPath, integrationPath, signaturePath } from "../paths.ts";
import type { Route } from "../routes.ts";
import {
	activateNextSecret,
	discardNextSecret,
	endOldSecret,
	issueApiKey,
	issueNextSecret,
	moveTest,
	removeUrl,
	resendFailed,
	resendPostback,
	revokeApiKey,
	saveUrl,
	sendTest,
} from "./actions.ts";
import { showDelivery, watchDelivery } from "./delivery-page.ts";
import { showInbound } from "./inbound-page.ts";
import { showIntegration, watchIntegration } from "./integration-page.ts";
import { checkPasted, showSignatureForm } from "./signature-page.ts";

const INTEGRATION = integrationPath(":programmeId");
const SIGNATURE = signaturePath(":programmeId");
const DELIVERY = deliveryPath(":programmeId", ":deliveryId");

export const INTEGRATION_ROUTES: readonly Route[] = [
	{ method: "GET", path: INTEGRATION, access: "programme", answer: showIntegration },
	{
		method: "GET",
		path: `${INTEGRATION}/live`,
		access: "programme",
		isStream: true,
		answer: watchIntegration,
	},
	{ method: "POST", path: `${INTEGRATION}/keys`, access: "programme", answer: issueApiKey },
	{ method: "POST", path: `${INTEGRATION}/keys/:keyId/revoke`, access: "programme", answer: revokeApiKey },
	{ method: "POST", path: `${INTEGRATION}/secret`, access: "programme", answer: issueNextSecret },
	{ method: "POST", path: `${INTEGRATION}/secret/activate`, access: "programme", answer: activateNextSecret },
	{ method: "POST", path: `${INTEGRATION}/secret/discard`, access: "programme", answer: discardNextSecret },
	{ method: "POST", path: `${INTEGRATION}/secret/end`, access: "programme", answer: endOldSecret },
	{ method: "POST", path: `${INTEGRATION}/postback-url`, access: "programme", answer: saveUrl },
	{ method: "POST", path: `${INTEGRATION}/postback-url/remove`, access: "programme", answer: removeUrl },
	{ method: "POST", path: `${INTEGRATION}/test`, access: "programme", answer: sendTest },
	{ method: "POST", path: `${INTEGRATION}/test/:conversionId`, access: "programme", answer: moveTest },
	{ method: "POST", path: `${INTEGRATION}/resend-failed`, access: "programme", answer: resendFailed },
	{ method: "GET", path: inboundPath(":programmeId"), access: "programme", answer: showInbound },
	{ method: "GET", path: SIGNATURE, access: "programme", answer: showSignatureForm },
	{ method: "POST", path: SIGNATURE, access: "programme", answer: checkPasted },
	{ method: "GET", path: DELIVERY, access: "programme", answer: showDelivery },
	{ method: "GET", path: `${DELIVERY}/live`, access: "programme", isStream: true, answer: watchDelivery },
	{ method: "POST", path: `${DELIVERY}/resend`, access: "programme", answer: resendPostback },
];
