// What a shop's developer works with: the four tabs, with the forms of each, and a delivery.

import { deliveryPath, inboundPath, integrationPath, keysPath, signaturePath } from "../paths.ts";
import type { Route } from "../routes.ts";
import { moveTest, removeUrl, saveUrl, sendTest } from "./callback-actions.ts";
import { showCallbacks, watchCallbacks } from "./callbacks-page.ts";
import { showDelivery, watchDelivery } from "./delivery-page.ts";
import { showInbound } from "./inbound-page.ts";
import {
	activateNextSecret,
	discardNextSecret,
	endOldSecret,
	issueApiKey,
	issueNextSecret,
	renameApiKey,
	revokeApiKey,
} from "./key-actions.ts";
import { showKeys } from "./keys-page.ts";
import {
	resendAllFailed,
	resendPostback,
	resendTicked,
	sendPostbackNow,
	sendWaiting,
} from "./resend-actions.ts";
import { checkPasted, showSignatureForm } from "./signature-page.ts";

const INTEGRATION = integrationPath(":programmeId");
const KEYS = keysPath(":programmeId");
const SIGNATURE = signaturePath(":programmeId");
const DELIVERY = deliveryPath(":programmeId", ":deliveryId");

export const INTEGRATION_ROUTES: readonly Route[] = [
	{ method: "GET", path: INTEGRATION, access: "programme", answer: showCallbacks },
	{
		method: "GET",
		path: `${INTEGRATION}/live`,
		access: "programme",
		isStream: true,
		answer: watchCallbacks,
	},
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
		answer: resendAllFailed,
	},
	{ method: "POST", path: `${INTEGRATION}/resend`, access: "programme-integrate", answer: resendTicked },
	{ method: "POST", path: `${INTEGRATION}/send-waiting`, access: "programme-integrate", answer: sendWaiting },
	{ method: "GET", path: KEYS, access: "programme", answer: showKeys },
	{ method: "POST", path: KEYS, access: "programme-integrate", answer: issueApiKey },
	{ method: "POST", path: `${KEYS}/:keyId/rename`, access: "programme-integrate", answer: renameApiKey },
	{ method: "POST", path: `${KEYS}/:keyId/revoke`, access: "programme-integrate", answer: revokeApiKey },
	{ method: "POST", path: `${KEYS}/secret`, access: "programme-integrate", answer: issueNextSecret },
	{
		method: "POST",
		path: `${KEYS}/secret/activate`,
		access: "programme-integrate",
		answer: activateNextSecret,
	},
	{
		method: "POST",
		path: `${KEYS}/secret/discard`,
		access: "programme-integrate",
		answer: discardNextSecret,
	},
	{ method: "POST", path: `${KEYS}/secret/end`, access: "programme-integrate", answer: endOldSecret },
	{ method: "GET", path: inboundPath(":programmeId"), access: "programme", answer: showInbound },
	{ method: "GET", path: SIGNATURE, access: "programme-integrate", answer: showSignatureForm },
	{ method: "POST", path: SIGNATURE, access: "programme-integrate", answer: checkPasted },
	{ method: "GET", path: DELIVERY, access: "programme", answer: showDelivery },
	{ method: "GET", path: `${DELIVERY}/live`, access: "programme", isStream: true, answer: watchDelivery },
	{ method: "POST", path: `${DELIVERY}/resend`, access: "programme-integrate", answer: resendPostback },
	{ method: "POST", path: `${DELIVERY}/send-now`, access: "programme-integrate", answer: sendPostbackNow },
];
