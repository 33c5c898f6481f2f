<?php
// Reports a sale: php sender.php ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]] (php-curl).
// Ends with 0: on record. 1: refused, correct the sale. 2: a setting or an argument is missing.
// 75: keep the sale and run it again later; an order is never recorded twice, the answer is then
// DUPLICATE. 78: a setting is wrong (key, secret, clock, brand, address): correct it, run it again.
declare(strict_types=1);

$service = getenv('RINGBACK_URL') ?: 'https://ringback.example';
$apiKey = getenv('RINGBACK_API_KEY');
// NEW,OLD while the secret is being replaced: the first one signs.
$secret = explode(',', (string) getenv('RINGBACK_SIGNING_SECRET'))[0];
if (!$apiKey || !$secret || $argc < 3 || $argc > 5) {
    fwrite(STDERR, "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.\n");
    exit(2);
}
if (preg_match('/\s/', $apiKey . $secret)) {
    $names = 'RINGBACK_API_KEY or RINGBACK_SIGNING_SECRET';
    fwrite(STDERR, "$names has a line break or white space in it.\n");
    exit(2);
}
$names = ['orderId', 'basketValue', 'clickId', 'couponCode'];
$sale = array_combine(array_slice($names, 0, $argc - 1), array_slice($argv, 1));

$path = '/v1/conversions';
// Amounts are strings. The bytes hashed here are exactly those sent below.
$body = json_encode($sale, JSON_THROW_ON_ERROR);
$timestamp = (string) time();
$nonce = bin2hex(random_bytes(16));
$signed = implode("\n", ['POST', $path, $timestamp, $nonce, hash('sha256', $body)]);

$curl = curl_init($service . $path);
curl_setopt_array($curl, [
    CURLOPT_POSTFIELDS => $body,
    CURLOPT_RETURNTRANSFER => true,
    CURLOPT_TIMEOUT => 10,
    CURLOPT_HTTPHEADER => [
        "Authorization: Bearer $apiKey",
        'Content-Type: application/json',
        "X-Service-Timestamp: $timestamp",
        "X-Service-Nonce: $nonce",
        'X-Service-Signature: ' . hash_hmac('sha256', $signed, $secret),
    ],
]);
$answer = curl_exec($curl);
$status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
echo $status, ' ', $answer === false ? curl_error($curl) : $answer, "\n";
$kind = explode(';', (string) curl_getinfo($curl, CURLINFO_CONTENT_TYPE))[0];
if ($kind === 'application/json' && ($status === 200 || $status === 201)) {
    exit(0);
}
if ($status === 401 || ($status >= 300 && $status < 400)) {
    exit(78);
}
$isRefused = $status >= 400 && $status < 500 && !in_array($status, [408, 429], true);
exit($isRefused && $kind === 'application/problem+json' ? 1 : 75); // 75 also for a proxy's page
