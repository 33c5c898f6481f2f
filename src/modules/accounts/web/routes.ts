import * as network from "#core/web/network/network-page.ts";
import * as paths from "#core/web/paths.ts";
import { form, page, type Route } from "#core/web/routes.ts";
import * as entries from "./entries-page.ts";
import * as statements from "./list-page.ts";
import { showPartnerStatements } from "./partner-statements-page.ts";
import * as paymentDetails from "./payment-details-page.ts";
import { COMPARED_PATH } from "./restored.ts";
import * as statement from "./statement-page.ts";

const STATEMENT = paths.statementPath(":partnerId", ":statementId");
const ENTRIES = paths.entriesPath(":partnerId");
const PAYMENT_DETAILS = paths.paymentDetailsPath(":partnerId");

export const STATEMENT_ROUTES: readonly Route[] = [
	// The statements of all partners, for staff. The routes of their jobs are in modules/jobs/web/routes.ts.
	page(paths.STATEMENTS_PATH, "staff", statements.showStatements),
	form(`${paths.STATEMENTS_PATH}/prepare`, "staff", statements.prepare),
	form(`${paths.STATEMENTS_PATH}/pay`, "staff", statements.pay),
	form(COMPARED_PATH, "staff", statements.confirmComparison),
	page(paths.PAYOUT_FILE_PATH, "staff", statements.downloadPayouts),
	form(paths.PAYOUT_SETTINGS_PATH, "staff", network.savePayouts),
	// The money of a partner. Owners of programmes see none of it.
	page(paths.partnerStatementsPath(":partnerId"), "partner", showPartnerStatements),
	page(STATEMENT, "partner", statement.showStatement),
	page(`${STATEMENT}/sales.csv`, "partner", statement.downloadSales),
	form(`${STATEMENT}/pay`, "partner-manage", statement.pay),
	form(`${STATEMENT}/undo`, "partner-manage", statement.undo),
	page(ENTRIES, "partner", entries.showEntries),
	form(ENTRIES, "partner-manage", entries.adjust),
	page(PAYMENT_DETAILS, "partner", paymentDetails.showPaymentDetails),
	form(PAYMENT_DETAILS, "partner", paymentDetails.saveDetails),
	form(`${PAYMENT_DETAILS}/vat`, "partner-manage", paymentDetails.saveVat),
];
