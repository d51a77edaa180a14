// Four goroutines that nearly always want one mutex around a map.
package main

import (
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	var all sync.WaitGroup
	counts := map[int]int{}
	end := time.Now().Add(time.Second)
	for first := 0; first < 4; first++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for number := first; time.Now().Before(end); number++ {
				mutex.Lock()
				for next := 0; next < 2000; next++ {
					counts[(number+next)%4096]++
				}
				mutex.Unlock()
			}
		}()
	}
	all.Wait()
}
