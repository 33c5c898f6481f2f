<?php
// Reports a sale: php sender.php ORDER-1001 49.90 [CLICK_ID [COUPON_CODE]] (php-curl).
// No answer, or 5xx? Run it again: an order is never recorded twice, the answer is then DUPLICATE.
declare(strict_types=1);

$service = getenv('RINGBACK_URL') ?: 'https://ringback.example';
[$apiKey, $secret] = [getenv('RINGBACK_API_KEY'), getenv('RINGBACK_SIGNING_SECRET')];
if (!$apiKey || !$secret || $argc < 3 || $argc > 5) {
    fwrite(STDERR, "Set RINGBACK_API_KEY and RINGBACK_SIGNING_SECRET; give order and amount.\n");
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
$isJson = str_starts_with((string) curl_getinfo($curl, CURLINFO_CONTENT_TYPE), 'application/json');
exit($isJson && ($status === 200 || $status === 201) ? 0 : 1); // 1: a refusal, or a proxy's page
