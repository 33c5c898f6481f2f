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
	{ method: "POST", path: `${INTEGRATION}/keys`, access: "programme-integrate", answer: issueApiKey },
	{
		method: "POST",
		path: `${INTEGRATION}/keys/:keyId/revoke`,
		access: "programme-integrate",
		answer: revokeApiKey,
	},
	{ method: "POST", path: `${INTEGRATION}/secret`, access: "programme-integrate", answer: issueNextSecret },
	{
		method: "POST",
		path: `${INTEGRATION}/secret/activate`,
		access: "programme-integrate",
		answer: activateNextSecret,
	},
	{
		method: "POST",
		path: `${INTEGRATION}/secret/discard`,
		access: "programme-integrate",
		answer: discardNextSecret,
	},
	{ method: "POST", path: `${INTEGRATION}/secret/end`, access: "programme-integrate", answer: endOldSecret },
	{ method: "POST", path: `${INTEGRATION}/postback-url`, access: "programme-integrate", answer: saveUrl },
	{
		method: "POST",
		path: `${INTEGRATION}/postback-url/remove`,
		access: "programme-integrate",
		answer: removeUrl,
	},
	{ method: "POST", path: `${INTEGRATION}/test`, access: "programme-integrate", answer: sendTest },
	{
		method: "POST",
		path: `${INTEGRATION}/test/:conversionId`,
		access: "programme-integrate",
		answer: moveTest,
	},
	{
		method: "POST",
		path: `${INTEGRATION}/resend-failed`,
		access: "programme-integrate",
		answer: resendFailed,
	},
	{ method: "GET", path: inboundPath(":programmeId"), access: "programme", answer: showInbound },
	{ method: "GET", path: SIGNATURE, access: "programme-integrate", answer: showSignatureForm },
	{ method: "POST", path: SIGNATURE, access: "programme-integrate", answer: checkPasted },
	{ method: "GET", path: DELIVERY, access: "programme", answer: showDelivery },
	{ method: "GET", path: `${DELIVERY}/live`, access: "programme", isStream: true, answer: watchDelivery },
	{ method: "POST", path: `${DELIVERY}/resend`, access: "programme-integrate", answer: resendPostback },
];
