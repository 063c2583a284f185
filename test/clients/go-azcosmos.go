// Uses the emulator as an application of Microsoft's azcosmos for Go does: go run go-azcosmos.go ENDPOINT KEY.
//
// This client queries one key at a time, marks a query by its content type and x-ms-documentdb-query, and finds a
// throughput by a query for it. Each check prints one line. The exit code is 1 if a check has failed.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

type item struct {
	ID    string `json:"id"`
	PK    string `json:"pk"`
	N     int    `json:"n"`
	Color string `json:"color,omitempty"`
}

var (
	background = context.Background()
	key        = azcosmos.NewPartitionKeyString("k1")
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func ensure(holds bool, format string, values ...any) {
	if !holds {
		panic(fmt.Sprintf(format, values...))
	}
}

// expect fails unless err is a refusal with this status.
func expect(err error, status int) {
	var refusal *azcore.ResponseError
	ensure(errors.As(err, &refusal), "expected a refusal with %d, got %v", status, err)
	ensure(refusal.StatusCode == status, "expected %d, got %d: %s", status, refusal.StatusCode, refusal.Error())
}

func text(value any) []byte {
	encoded, err := json.Marshal(value)
	must(err)
	return encoded
}

func parsed(encoded []byte) item {
	var value item
	must(json.Unmarshal(encoded, &value))
	return value
}

// ask returns the numbers that a query selects, and how many pages they came in.
func ask(container *azcosmos.ContainerClient, query string, options *azcosmos.QueryOptions) ([]int, int) {
	found, pages := []int{}, 0
	pager := container.NewQueryItemsPager(query, key, options)
	for pager.More() {
		page, err := pager.NextPage(background)
		must(err)
		pages++
		for _, encoded := range page.Items {
			var n int
			must(json.Unmarshal(encoded, &n))
			found = append(found, n)
		}
	}
	return found, pages
}

func items(container *azcosmos.ContainerClient) {
	response, err := container.ReadItem(background, key, "i1", nil)
	must(err)
	read := parsed(response.Value)
	ensure(read.N == 1, "read %v", read)
	read.Color = "red"
	replaced, err := container.ReplaceItem(background, key, "i1", text(read), &azcosmos.ItemOptions{IfMatchEtag: &response.ETag})
	must(err)
	ensure(replaced.ETag != response.ETag, "the etag stays %s", replaced.ETag)
	_, err = container.ReplaceItem(background, key, "i1", text(read), &azcosmos.ItemOptions{IfMatchEtag: &response.ETag})
	expect(err, http.StatusPreconditionFailed)
	_, err = container.CreateItem(background, key, text(read), nil)
	expect(err, http.StatusConflict)
	_, err = container.ReadItem(background, key, "nothing", nil)
	expect(err, http.StatusNotFound)
	content, err := container.UpsertItem(background, key, text(item{ID: "new", PK: "k1"}), &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
	must(err)
	ensure(parsed(content.Value).ID == "new", "upserted %s", content.Value)
	_, err = container.DeleteItem(background, key, "new", nil)
	must(err)
}

func patches(container *azcosmos.ContainerClient) {
	operations := azcosmos.PatchOperations{}
	operations.AppendIncrement("/n", 0)
	operations.AppendSet("/color", "blue")
	operations.SetCondition("from c where c.pk = 'k1'")
	response, err := container.PatchItem(background, key, "i3", operations, &azcosmos.ItemOptions{EnableContentResponseOnWrite: true})
	must(err)
	ensure(parsed(response.Value).Color == "blue", "patched %s", response.Value)
	operations.SetCondition("from c where c.pk = 'other'")
	_, err = container.PatchItem(background, key, "i3", operations, nil)
	expect(err, http.StatusPreconditionFailed)
}

func batches(container *azcosmos.ContainerClient) {
	batch := container.NewTransactionalBatch(key)
	batch.CreateItem(text(item{ID: "b1", PK: "k1", N: 100}), nil)
	batch.ReadItem("b1", nil)
	batch.DeleteItem("b1", nil)
	response, err := container.ExecuteTransactionalBatch(background, batch, nil)
	must(err)
	ensure(response.Success && len(response.OperationResults) == 3, "batch %v", response.OperationResults)
	failing := container.NewTransactionalBatch(key)
	failing.CreateItem(text(item{ID: "b2", PK: "k1"}), nil)
	failing.CreateItem(text(item{ID: "i1", PK: "k1"}), nil)
	response, err = container.ExecuteTransactionalBatch(background, failing, nil)
	must(err)
	ensure(!response.Success && response.OperationResults[1].StatusCode == http.StatusConflict, "batch %v", response.OperationResults)
	_, err = container.ReadItem(background, key, "b2", nil)
	expect(err, http.StatusNotFound)
}

func queries(container *azcosmos.ContainerClient) {
	found, pages := ask(container, "SELECT VALUE c.n FROM c", &azcosmos.QueryOptions{PageSizeHint: 5})
	sort.Ints(found)
	ensure(fmt.Sprint(found) == "[1 3 5 7 9 11 13 15 17 19]", "found %v", found)
	// The end of one key is known when a page is full: the last page is not empty.
	ensure(pages == 2, "%d pages", pages)
	ordered, _ := ask(container, "SELECT VALUE c.n FROM c ORDER BY c.n DESC OFFSET 1 LIMIT 2", nil)
	ensure(fmt.Sprint(ordered) == "[17 15]", "ordered %v", ordered)
	sum, _ := ask(container, "SELECT VALUE SUM(c.n) FROM c", nil)
	ensure(fmt.Sprint(sum) == "[100]", "sum %v", sum)
	parameters := []azcosmos.QueryParameter{{Name: "@least", Value: 15}}
	above, _ := ask(container, "SELECT VALUE c.n FROM c WHERE c.n > @least ORDER BY c.n", &azcosmos.QueryOptions{QueryParameters: parameters})
	ensure(fmt.Sprint(above) == "[17 19]", "above %v", above)
}

func queryMetrics(container *azcosmos.ContainerClient) {
	pager := container.NewQueryItemsPager("SELECT * FROM c", key, &azcosmos.QueryOptions{PopulateIndexMetrics: true})
	page, err := pager.NextPage(background)
	must(err)
	ensure(page.QueryMetrics != nil && page.IndexMetrics != nil && page.RequestCharge > 0, "metrics %v", page.QueryMetrics)
}

func brokenQueries(container *azcosmos.ContainerClient) {
	_, err := container.NewQueryItemsPager("SELECT", key, nil).NextPage(background)
	expect(err, http.StatusBadRequest)
}

// The client (0.3.7) sends no request to replace the throughput of a container.
func throughput(container *azcosmos.ContainerClient) {
	read, err := container.ReadThroughput(background, nil)
	must(err)
	manual, isManual := read.ThroughputProperties.ManualThroughput()
	ensure(isManual && manual == 1000, "throughput %d", manual)
}

func definitions(container *azcosmos.ContainerClient) {
	read, err := container.Read(background, nil)
	must(err)
	properties := *read.ContainerProperties
	ensure(strings.EqualFold(string(properties.IndexingPolicy.IndexingMode), "consistent"), "indexing %v", properties.IndexingPolicy)
	ttl := int32(1000)
	properties.DefaultTimeToLive = &ttl
	replaced, err := container.Replace(background, properties, nil)
	must(err)
	ensure(*replaced.ContainerProperties.DefaultTimeToLive == ttl, "ttl of %v", replaced.ContainerProperties)
}

func main() {
	credential, err := azcosmos.NewKeyCredential(os.Args[2])
	must(err)
	client, err := azcosmos.NewClientWithKey(os.Args[1], credential, nil)
	must(err)
	_, err = client.CreateDatabase(background, azcosmos.DatabaseProperties{ID: "go"}, nil)
	must(err)
	database, err := client.NewDatabase("go")
	must(err)
	properties := azcosmos.ContainerProperties{
		ID:                     "orders",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}},
	}
	manual := azcosmos.NewManualThroughputProperties(1000)
	_, err = database.CreateContainer(background, properties, &azcosmos.CreateContainerOptions{ThroughputProperties: &manual})
	must(err)
	container, err := database.NewContainer("orders")
	must(err)
	for n := 0; n < 20; n++ {
		one := item{ID: fmt.Sprintf("i%d", n), PK: fmt.Sprintf("k%d", n%2), N: n}
		_, err = container.CreateItem(background, azcosmos.NewPartitionKeyString(one.PK), text(one), nil)
		must(err)
	}

	failed := false
	check := func(name string, run func(*azcosmos.ContainerClient)) {
		defer func() {
			if problem := recover(); problem != nil {
				failed = true
				fmt.Printf("FAILED %s: %v\n", name, problem)
			}
		}()
		run(container)
		fmt.Printf("ok     %s\n", name)
	}
	check("items, etags and refusals", items)
	check("patches", patches)
	check("batches", batches)
	check("queries of one key", queries)
	check("query metrics", queryMetrics)
	check("broken queries", brokenQueries)
	check("throughput", throughput)
	check("definitions", definitions)
	if failed {
		os.Exit(1)
	}
}
